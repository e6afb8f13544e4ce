"""One company in one database, and an employee's work in it, as ``office:*``."""

__version__ = "0.1.0"
