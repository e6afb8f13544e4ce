"""The pages' data on conformance: the records of a release, by gem-core version, clause by clause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packaging.version import InvalidVersion, Version
from pydantic import ValidationError

from gem_hub.site.attacks import ShownAudit, audits_of
from gem_hub.site.text import shortened
from gem_testing.clauses import CLAUSES
from gem_testing.record import ConformanceRecord

__all__ = ["Check", "ClauseRow", "ShownFinding", "checks_of"]

_MESSAGE = 400
_MOST_FINDINGS = 20


@dataclass(frozen=True)
class ShownFinding:
    """A clause that does not simply hold for an environment."""

    environment: str
    outcome: str
    """``"violated"``, ``"not tested"`` or ``"exempt"``."""
    message: str
    advice: str


@dataclass
class ClauseRow:
    """The results of one clause for all checked environments."""

    name: str
    promise: str
    holds: int = 0
    violated: int = 0
    not_tested: int = 0
    exempt: int = 0
    findings: list[ShownFinding] = field(default_factory=list)

    @property
    def group(self) -> str:
        """The part of the name before the dot."""
        return self.name.partition(".")[0]

    @property
    def verdict(self) -> str:
        """The worst result."""
        if self.violated:
            return "violated"
        if self.holds:
            return "holds" if not self.not_tested else "partly tested"
        return "not tested" if self.not_tested else "exempt"

    @property
    def more_findings(self) -> int:
        """The number of findings that are counted but not listed."""
        return self.violated + self.not_tested + self.exempt - len(self.findings)


@dataclass
class Check:
    """A run of the kit."""

    gem_core: str
    python: str
    platform: str
    environments: int
    """The number of checked environments."""
    source: str
    """``"hub"`` if the hub ran the kit, ``"author"`` for the author's own record."""
    rows: list[ClauseRow]
    scores: dict[str, Mapping[str, Any]]
    """Environment id → agent → :class:`gem_testing.record.ScoreRecord`."""
    audits: list[ShownAudit] = field(default_factory=list)
    """What came of attacks; empty where none were played."""

    @property
    def holds(self) -> int:
        return sum(row.holds for row in self.rows)

    @property
    def violated(self) -> int:
        return sum(row.violated for row in self.rows)

    @property
    def not_tested(self) -> int:
        return sum(row.not_tested for row in self.rows)

    @property
    def exempt(self) -> int:
        return sum(row.exempt for row in self.rows)

    @property
    def origin(self) -> str:
        """Who says so, in a few words."""
        return "run by the hub" if self.source == "hub" else "the author says"

    @property
    def verdict(self) -> str:
        """A short summary for lists; one check is one clause for one environment."""
        if self.violated:
            return "1 check violated" if self.violated == 1 else f"{self.violated} checks violated"
        return f"{self.holds} checks hold"


def checks_of(records: Sequence[Mapping[str, Any]], sources: Sequence[str]) -> list[Check]:
    """Return the last run for each gem-core version, newest version first; a run by the hub counts before any claim.

    A record with a schema that this version of the kit does not know is left out, because no result is better than a
    wrong one.

    Args:
        records: dicts of :class:`gem_testing.record.ConformanceRecord`, newest last.
        sources: the source of each record, ``"hub"`` or ``"author"``.
    """
    known = sorted(zip(records, sources, strict=True), key=lambda pair: pair[1] == "hub")
    last = {record["gem_core"]: (record, source) for record, source in known}
    checks = [check for check in (_check(*pair) for pair in last.values()) if check is not None]
    return sorted(checks, key=lambda check: _order(check.gem_core), reverse=True)


def _order(version: str) -> tuple[int, Any]:
    try:
        return 1, Version(version)
    except InvalidVersion:
        return 0, version


def _check(document: Mapping[str, Any], source: str) -> Check | None:
    try:
        record = ConformanceRecord.model_validate(document)
    except ValidationError:
        return None
    rows: dict[str, ClauseRow] = {}
    environments = [environment for package in record.packages for environment in package.environments]
    for environment in environments:
        for clause in environment.clauses:
            known = CLAUSES.get(clause.clause)
            row = rows.setdefault(clause.clause, ClauseRow(clause.clause, known.promise if known else ""))
            outcome = "exempt" if clause.exempt else clause.outcome
            attribute = outcome.replace(" ", "_")
            setattr(row, attribute, getattr(row, attribute) + 1)
            if outcome != "holds" and len(row.findings) < _MOST_FINDINGS:
                message, advice = shortened(clause.message, _MESSAGE), shortened(clause.advice, _MESSAGE)
                row.findings.append(ShownFinding(environment.id, outcome, message, advice))
    order = list(CLAUSES)
    return Check(
        gem_core=record.gem_core,
        python=record.python,
        platform=record.platform,
        environments=len(environments),
        source=source,
        rows=sorted(rows.values(), key=lambda row: order.index(row.name) if row.name in CLAUSES else len(order)),
        scores={
            environment.id: {agent: score.model_dump() for agent, score in environment.scores.items()}
            for environment in environments
        },
        audits=audits_of(record),
    )
