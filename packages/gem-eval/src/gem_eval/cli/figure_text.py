"""Figures of runs as short texts: :func:`share_text`, :func:`mean_text` and others, for tables and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_eval.statistics.estimates import Estimate

__all__ = ["mean_text", "one_line", "per_cent", "share_text", "short_number"]


def one_line(text: object) -> str:
    """Return a text from a file or a server on one line, without control characters."""
    return printable(" ".join(str(text).split()))


def share_text(estimate: Estimate | None) -> str:
    """Return a share in per cent with its interval, which need not be symmetric: ``81.2 % (77.0 … 84.7)``."""
    if estimate is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return f"{per_cent(estimate.value)} %"
    return f"{per_cent(estimate.value)} % ({per_cent(estimate.low)} … {per_cent(estimate.high)})"


def mean_text(estimate: Estimate | None) -> str:
    """Return a mean with half of its interval: ``0.812 ± 0.046``."""
    if estimate is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return short_number(estimate.value)
    return f"{short_number(estimate.value)} ± {short_number((estimate.high - estimate.low) / 2)}"


def per_cent(share: float) -> str:
    """Return a share in per cent, without the sign: ``81.2``, ``100``."""
    return "100" if share == 1 else "0" if share == 0 else f"{100 * share:.1f}"


def short_number(value: float, digits: int = 4) -> str:
    """Return a number in a few characters: 0.8125, 12.34, 1,234, 12.3k."""
    size = abs(value)
    if size >= 1e7:
        return f"{value:.3g}"
    if size >= 1e4:
        return f"{value / 1000:,.{1 if size < 1e5 else 0}f}k"
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = max(0, digits - (1 if size < 10 else 2 if size < 100 else 3))
    return f"{value:.{decimals}f}"
