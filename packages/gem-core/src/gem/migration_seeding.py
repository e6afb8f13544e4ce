"""The functions of the original's ``gem.utils.seeding``, which seed and make generators of NumPy.

Only :mod:`gem.migration` leads here. An environment of this project draws from ``self.rng`` alone, which ``reset``
seeds.
"""

from __future__ import annotations

import random
from importlib.util import find_spec
from typing import Any

from gem.arguments import seed_value

__all__ = ["np_random", "set_seed"]


def set_seed(seed: int | None = None) -> None:
    """Seed the generators of the modules ``random`` and, where it is installed, ``numpy.random``."""
    random.seed(seed)
    if find_spec("numpy") is not None:
        import numpy as np

        np.random.seed(seed)  # the global generator is the one that was asked for


def np_random(seed: int | None = None) -> tuple[Any, Any]:
    """Return a new generator of NumPy and its seed, which is the operating system's entropy by default.

    Raises:
        ArgumentTypeError, ArgumentError: if it is not a seed.
    """
    import numpy as np

    sequence = np.random.SeedSequence(None if seed is None else seed_value(seed))
    return np.random.Generator(np.random.PCG64(sequence)), sequence.entropy


def __getattr__(name: str) -> Any:
    if name in ("RNG", "RandomNumberGenerator"):
        import numpy as np

        return np.random.Generator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
