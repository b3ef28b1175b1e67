"""What a fitted model is and did: a plain dict, figures, and one HTML page."""
