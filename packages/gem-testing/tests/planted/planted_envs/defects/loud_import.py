"""A module that prints when it is imported."""

from planted_envs.healthy import Sums

print("Loading the lexicon ...")


class LoudImport(Sums):
    """Importing its module prints."""
