"""Where the steps of a model run, and the loop that drives them."""
