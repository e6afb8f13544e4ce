"""Bandits: RAGEN's choice between two names, and the search for the one lucky arm."""
