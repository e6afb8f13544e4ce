"""Worlds of facts and rules in English, and whether a statement follows from them; see :mod:`.env`."""
