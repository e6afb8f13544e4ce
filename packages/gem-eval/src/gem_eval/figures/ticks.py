"""Round numbers for the axes of figures: :func:`ticks`."""

from __future__ import annotations

import math

__all__ = ["ticks"]


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten between two values, about as many as wanted.

    Args:
        low: the least value.
        high: a greater one.
        wanted: at least 1.
    """
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]
