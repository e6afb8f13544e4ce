"""``gem swe``."""
