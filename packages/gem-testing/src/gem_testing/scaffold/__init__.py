"""A new package of environments, as ``gem new`` writes it."""
