"""What people start: the command line."""
