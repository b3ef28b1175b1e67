"""Sections of the page, each from its part of a summary: sentences, tables and charts."""
