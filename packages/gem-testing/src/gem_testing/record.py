"""The conformance record, which ``gem check --report FILE`` writes and a hub stores.

It names the checked code (distribution, version, source digests), the checking versions (of kit, gem-core and
Python), and the results. It holds no dates and no paths of the machine, and its keys always have the same order.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

import gem
from gem.discovery.official import install_line
from gem.discovery.pydantic_start import start_pydantic
from gem.entry_points import source_digest
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_testing.clauses import CLAUSES
from gem_testing.outcomes import ClauseOutcome, ClauseResult
from gem_testing.targets import PackageUnderTest

__all__ = [
    "KIT",
    "SCHEMA",
    "AttackAuditRecord",
    "AttackRecord",
    "ClauseRecord",
    "ConformanceRecord",
    "EnvironmentRecord",
    "EnvironmentResults",
    "EstimateRecord",
    "PackageRecord",
    "ScoreRecord",
    "SpeedRecord",
    "record_of",
]

SCHEMA = 1
"""Version of the record's own form."""

KIT = 1
"""Version of the clauses; raised when one is added or becomes stricter."""

start_pydantic()


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ClauseRecord(_Strict):
    """The result of one clause; the fields are those of :class:`gem_testing.ClauseResult`."""

    clause: str
    outcome: Literal["holds", "violated", "not tested"]
    message: str
    advice: str
    exempt: bool


class ScoreRecord(_Strict):
    """The score of an agent; the fields are those of :class:`gem_testing.scores.AgentScore`."""

    episodes: int = Field(ge=0)
    mean: float | None
    standard_error: float = Field(ge=0)
    success_rate: float | None = Field(ge=0, le=1)
    mean_turns: float | None
    error: str


class SpeedRecord(_Strict):
    """The speed of an environment; the fields are those of :class:`gem_rollout.speed.Speed`, which explains them."""

    steps_per_cpu_second: float
    resets_per_cpu_second: float
    make_cpu_seconds: float
    slowest_reset_cpu_seconds: float
    calibration: int
    calibration_rounds_per_cpu_second: float
    relative_steps: float
    relative_resets: float


class EstimateRecord(_Strict):
    """A mean return; the fields are those of :class:`gem_testing.attacks.estimate.RewardEstimate`."""

    episodes: int = Field(ge=1)
    mean: float
    low: float
    high: float
    unknown: int = Field(ge=0)


class AttackRecord(_Strict):
    """What came of one attack; the fields are those of :class:`gem_testing.attacks.AttackResult`."""

    name: str = Field(pattern=r"^[a-z]+\.[a-z_]+$")
    outcome: Literal["withstood", "pays", "broke", "not played"]
    bound: float | None
    variants: int = Field(ge=0)
    episodes: int = Field(ge=0)
    variant: str = Field(max_length=100)
    earned: EstimateRecord | None
    further: bool
    message: str
    declared: str


class AttackAuditRecord(_Strict):
    """The hack audit of one environment; the fields are those of :class:`gem_testing.attacks.AttackAudit`."""

    kind: str
    seeds: list[int] = Field(min_length=2, max_length=2)
    further_seeds: list[int] = Field(min_length=2, max_length=2)
    reference: EstimateRecord | None
    random: EstimateRecord | None
    null: EstimateRecord | None
    results: list[AttackRecord]


class EnvironmentRecord(_Strict):
    """One environment."""

    id: str
    spec: dict[str, JsonValue]
    """The whole spec that was checked, exemptions and source digest included, as ``EnvSpec.to_dict`` returns it."""
    clauses: list[ClauseRecord]
    """In reading order."""
    scores: dict[Literal["random", "reference", "null"], ScoreRecord]
    speed: SpeedRecord | None
    """None where it was not measured."""
    errors: list[str]
    """The reason that scores, speed or the audit are missing, if measuring failed."""
    attacks: AttackAuditRecord | None = None
    """The hack audit; None where no attacks were played."""

    @field_validator("spec")
    @classmethod
    def _is_a_spec(cls, value: dict[str, Any]) -> dict[str, Any]:
        EnvSpec.from_dict(value)
        return value


class PackageRecord(_Strict):
    """One package of environments."""

    distribution: str | None
    version: str | None
    import_name: str
    namespaces: list[str] | None
    source_digest: str | None
    """SHA-256 (hex) over all files of the package."""
    wheel_sha256: str | None = None
    """SHA-256 (hex) of the wheel that it was installed from; None if the installer did not write it down (PEP 610)."""
    complete: bool
    """Whether every clause has a result for every environment of the package."""
    problem: str
    """The reason that the manifest cannot be used; then there are no environments."""
    environments: list[EnvironmentRecord]


class ConformanceRecord(_Strict):
    """The results of one run of the kit."""

    schema_: Literal[1] = Field(alias="schema")
    kit: int
    gem_core: str
    python: str
    implementation: str
    """``"CPython"``, ``"PyPy"``."""
    platform: str
    """Operating system and processor architecture: ``"Linux x86_64"``."""
    packages: list[PackageRecord]

    @field_validator("schema_", mode="before")
    @classmethod
    def _is_an_int(cls, value: Any) -> Any:
        return value if type(value) is int else None  # True equals 1

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ConformanceRecord:
        """Return the record in a file.

        Raises:
            ArgumentError: if the file cannot be read or holds no record of this schema; the message has one sentence
                for each fault.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ArgumentError(f"{path}: cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"{path}: not a conformance record: no JSON: {error}") from error
        schema = document.get("schema") if isinstance(document, dict) else None
        if type(schema) is int and schema > SCHEMA:
            raise ArgumentError(
                f"{path}: uses schema {schema}, and this gem-core reads schema {SCHEMA}; run: "
                f"{install_line('--upgrade', 'gem-core')}"
            )
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'the file'}: {item['msg']}" for item in error.errors()
            )
            raise ArgumentError(f"{path}: not a conformance record: {problems}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a file, all of it or nothing; missing folders are made."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with open(number, "w", encoding="utf-8") as file:  # noqa: PTH123  # a descriptor
                json.dump(self.to_dict(), file, indent=2, ensure_ascii=False)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)  # mkstemp denies all others access
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return self.model_dump(by_alias=True, mode="json")


@dataclass
class EnvironmentResults:
    """The results of one environment so far."""

    package: PackageUnderTest
    spec: EnvSpec
    results: dict[str, ClauseResult] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    """``"scores"``, ``"speed"`` and ``"attacks"``, as :mod:`gem_testing.pool` reports them."""
    errors: list[str] = field(default_factory=list)

    def count(self, outcome: ClauseOutcome) -> int:
        """Return the number of clauses with this outcome, exempted ones left out."""
        return sum(result.outcome is outcome and not result.exempt for result in self.results.values())

    def attacks_against(self) -> list[dict[str, Any]]:
        """Return what came of the attacks that break the environment, or pay and are not declared."""
        results = self.figures.get("attacks", {}).get("results", ())
        return [
            one for one in results if one["outcome"] == "broke" or (one["outcome"] == "pays" and not one["declared"])
        ]

    def to_record(self) -> EnvironmentRecord:
        speed, attacks = self.figures.get("speed"), self.figures.get("attacks")
        order = list(CLAUSES)
        return EnvironmentRecord(
            id=self.spec.id,
            spec=self.spec.to_dict(),
            clauses=[
                ClauseRecord(
                    clause=result.clause,
                    outcome=result.outcome.value,
                    message=result.message,
                    advice=result.advice,
                    exempt=result.exempt,
                )
                for result in sorted(self.results.values(), key=lambda result: order.index(result.clause))
            ],
            scores={agent: ScoreRecord(**score) for agent, score in self.figures.get("scores", {}).items()},  # type: ignore[misc]
            speed=None if speed is None else SpeedRecord(**{k: v for k, v in speed.items() if k != "id"}),
            errors=self.errors,
            attacks=None if attacks is None else AttackAuditRecord.model_validate(attacks),
        )


def record_of(packages: Iterable[PackageUnderTest], findings: Iterable[EnvironmentResults]) -> ConformanceRecord:
    """Return the record of a run over some packages."""
    known = list(findings)
    return ConformanceRecord(
        schema=1,
        kit=KIT,
        gem_core=gem.__version__,
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        platform=f"{platform.system()} {platform.machine()}",
        packages=[_package_record(package, [f for f in known if f.package is package]) for package in packages],
    )


def _package_record(package: PackageUnderTest, findings: list[EnvironmentResults]) -> PackageRecord:
    return PackageRecord(
        distribution=package.distribution,
        version=package.version,
        import_name=package.import_name,
        namespaces=None if package.namespaces is None else sorted(package.namespaces),
        source_digest=None if package.manifest is None else source_digest(f"{package.import_name}:"),
        wheel_sha256=_wheel_sha256(package.distribution),
        complete=package.whole and not package.problem and all(len(f.results) == len(CLAUSES) for f in findings),
        problem=package.problem,
        environments=[finding.to_record() for finding in findings],
    )


def _wheel_sha256(distribution: str | None) -> str | None:
    from importlib import metadata

    if distribution is None:
        return None
    try:
        origin = json.loads(metadata.distribution(distribution).read_text("direct_url.json") or "{}")
        digest = origin["archive_info"]["hashes"]["sha256"]
    except (metadata.PackageNotFoundError, OSError, ValueError, KeyError, TypeError):
        return None
    return digest if isinstance(digest, str) else None
