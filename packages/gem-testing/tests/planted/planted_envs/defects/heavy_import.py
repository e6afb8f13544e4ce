"""A module that imports a heavy library, instead of on first use."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "stand_ins"))  # last, so that the library itself comes first

import spacy  # noqa: F401

from planted_envs.healthy import Sums


class HeavyImport(Sums):
    """Importing its module loads a library that takes long to import."""
