"""Numba kernels: arrays in, arrays out; no objects, no validation, every output row owned by one thread."""
