"""`python -m coview` is the command line."""

from coview.apps.cli import main

main()
