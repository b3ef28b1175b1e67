"""Several feature matrices of the same objects: the container, its lazy form, and the gate that makes them."""
