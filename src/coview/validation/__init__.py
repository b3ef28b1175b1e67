"""Checks of what users pass: labels with gaps, parameters for all views or for each."""
