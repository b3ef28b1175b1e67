"""Fits on a Dask cluster."""
