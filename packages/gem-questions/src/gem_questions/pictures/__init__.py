"""Drawings whose bytes are the same on every machine, for environments that show pictures."""
