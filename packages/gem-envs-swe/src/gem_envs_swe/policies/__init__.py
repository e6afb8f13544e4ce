"""Policies that know the answer, do nothing, or cheat."""
