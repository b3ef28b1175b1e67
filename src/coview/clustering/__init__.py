"""Clusterings of several views: spherical k-means, spectral, consensus, CCA."""
