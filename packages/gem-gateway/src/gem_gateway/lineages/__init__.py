"""Exact tokens for agent programs: which recorded call a request continues, and with which ids."""
