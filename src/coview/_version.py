"""The version of coview: read by the package, the build and the files that it writes."""

__version__ = "0.1.0"
