"""Organisations: accounts that nobody logs in to, for which their members act according to their roles."""
