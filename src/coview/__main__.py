"""`python -m coview` is the command line."""

from coview.cli.main import main

main()
