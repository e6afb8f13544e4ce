"""Signing a hub: keys, signed metadata in TUF's format, and the log of all its records and events."""
