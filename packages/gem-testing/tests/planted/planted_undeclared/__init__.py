"""A package that does not declare what it imports."""
