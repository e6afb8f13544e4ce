"""The folder of the installed library reasoning-gym."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from gem.errors import DatasetError

__all__ = ["LIBRARY", "library_folder"]

LIBRARY = "reasoning_gym"


@lru_cache(maxsize=1)
def library_folder() -> Path:
    """Return the folder of the installed library.

    Raises:
        DatasetError: if the library is not installed.
    """
    found = importlib.util.find_spec(LIBRARY)
    if found is None or found.origin is None:
        raise DatasetError("reasoning-gym is not installed; run: pip install 'reasoning-gym==0.1.25'")
    return Path(found.origin).parent
