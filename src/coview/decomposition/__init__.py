"""Spaces that views share: canonical correlation analysis."""
