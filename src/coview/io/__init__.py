"""Files: views, tables and models, read and written."""
