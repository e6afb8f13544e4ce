"""Why the gate does not let a wheel through."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

__all__ = ["MOST", "GateFindings", "Refusal"]

MOST = 500
"""Reasons that are kept; a file can be made to have millions of faults."""


@dataclass(frozen=True)
class Refusal:
    """One reason."""

    code: str
    """What kind of reason it is: ``"record.hash"``; stable, for programs and for a hub's policy."""
    where: str
    """The file, entry or field that it is about."""
    message: str
    """One sentence: the problem, the value, and the remedy."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def to_dict(self) -> dict[str, str]:
        """Return the reason as JSON values."""
        return asdict(self)


@dataclass
class GateFindings:
    """Everything that was found out about one file, in the order in which it was found."""

    refusals: list[Refusal] = field(default_factory=list)
    warnings: list[Refusal] = field(default_factory=list)
    _known: set[Refusal] = field(default_factory=set)

    def refuse(self, code: str, where: str, message: str) -> None:
        """Add a reason against the file, once."""
        self._add(self.refusals, Refusal(code, _shown(where), message))

    def warn(self, code: str, where: str, message: str) -> None:
        """Add something that the publisher should know and that is no reason against the file."""
        self._add(self.warnings, Refusal(code, _shown(where), message))

    def _add(self, reasons: list[Refusal], reason: Refusal) -> None:
        if len(reasons) < MOST and reason not in self._known:
            self._known.add(reason)
            reasons.append(reason)


def _shown(where: str) -> str:
    """Names in a hostile archive may be anything; a terminal gets them escaped and short."""
    text = where if where.isprintable() else ascii(where)[1:-1]
    return text if len(text) <= 120 else f"{text[:80]}…{text[-36:]}"
