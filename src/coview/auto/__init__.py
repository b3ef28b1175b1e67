"""The defaults to trust: candidates, evidence, choice."""
