"""The ``gem`` command. Each module holds one command; :mod:`gem_cli.main` finds them without importing them."""

__version__ = "0.1.0"
