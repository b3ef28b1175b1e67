"""Data in: the `Views` container, the gate that makes it, files, text, columns and weighting."""
