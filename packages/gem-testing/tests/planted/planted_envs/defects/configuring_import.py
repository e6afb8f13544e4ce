"""A module that changes the process when it is imported."""

import logging

from planted_envs.healthy import Sums

logging.basicConfig(level=logging.INFO)


class ConfiguringImport(Sums):
    """Importing its module configures logging for the whole process."""
