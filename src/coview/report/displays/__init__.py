"""Figures, one class each, in the manner of scikit-learn's displays."""
