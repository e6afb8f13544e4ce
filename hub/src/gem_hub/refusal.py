"""The gate's reasons against a wheel."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

__all__ = ["MOST", "GateFindings", "Refusal"]

MOST = 500
"""The largest number of kept reasons, since a file can have millions of faults."""


@dataclass(frozen=True)
class Refusal:
    """One reason."""

    code: str
    """The code of the reason, for example ``"record.hash"``; stable, for programs and for a hub's policy."""
    where: str
    """The affected file, entry or field."""
    message: str
    """One sentence: the problem, the value, and the remedy."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def to_dict(self) -> dict[str, str]:
        """Return the reason as JSON values."""
        return asdict(self)


@dataclass
class GateFindings:
    """All findings about one file, in their order."""

    refusals: list[Refusal] = field(default_factory=list)
    warnings: list[Refusal] = field(default_factory=list)
    _known: set[Refusal] = field(default_factory=set)

    def refuse(self, code: str, where: str, message: str) -> None:
        """Add a reason against the file, once."""
        self._add(self.refusals, Refusal(code, _shown(where), message))

    def warn(self, code: str, where: str, message: str) -> None:
        """Add a warning for the publisher that is not a reason against the file."""
        self._add(self.warnings, Refusal(code, _shown(where), message))

    def _add(self, reasons: list[Refusal], reason: Refusal) -> None:
        if len(reasons) < MOST and reason not in self._known:
            self._known.add(reason)
            reasons.append(reason)


def _shown(where: str) -> str:
    """Escape and shorten a name from a hostile archive for a terminal."""
    text = where if where.isprintable() else ascii(where)[1:-1]
    return text if len(text) <= 120 else f"{text[:80]}…{text[-36:]}"
