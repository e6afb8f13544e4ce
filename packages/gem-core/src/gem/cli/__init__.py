"""The ``gem`` command. Each module holds one command; :mod:`gem.cli.main` finds them without importing them."""
