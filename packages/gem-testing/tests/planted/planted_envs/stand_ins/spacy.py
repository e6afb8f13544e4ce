"""Stands in for the library of this name, which need not be installed here."""
