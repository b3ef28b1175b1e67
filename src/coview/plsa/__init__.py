"""Probabilistic latent semantic analysis and its multi-view relatives."""
