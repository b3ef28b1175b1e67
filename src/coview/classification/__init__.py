"""Classifiers for several views: naive Bayes, co-training, and wrappers of single-view estimators."""
