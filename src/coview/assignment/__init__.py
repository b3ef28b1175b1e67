"""Optimal assignment of label sets: few labels, several views, an ontology."""
