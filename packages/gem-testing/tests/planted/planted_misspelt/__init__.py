"""A package whose manifest has a key that does not exist."""
