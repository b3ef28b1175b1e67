"""Simple rivals for every model: naive Bayes, co-training, consensus, best view, concatenation."""
