"""Wrappers whose observations are the history of an episode: chat messages, windows, summaries, token budgets."""
