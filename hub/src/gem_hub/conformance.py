"""Runs the conformance kit on a wheel that passed the static gate, isolated from the machine.

The wheel is installed into a temporary environment without running its code; then ``gem check`` runs in the sandbox and
writes its record. The untrusted code could have changed the record, so it is evidence but not proof: it is read as
data, and must cover exactly the environments of the wheel's manifest.
"""

from __future__ import annotations

import json
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError
from gem.ids import normalized_distribution
from gem_hub import first_observations
from gem_hub.attacks import attack_options, judge_attacks
from gem_hub.errors import HubRefusal
from gem_hub.events import Conformance
from gem_hub.gate import GateResult
from gem_hub.installation import Sources, install
from gem_hub.policy import HubPolicy
from gem_hub.records import reasons
from gem_hub.refusal import GateFindings, Refusal
from gem_hub.sandbox import Bounds, Finished, Isolation, run
from gem_hub.secret_scan import find_own_secret
from gem_hub.wheel import Wheel
from gem_hub_client.sanitize import sanitize
from gem_testing import CLAUSES
from gem_testing.record import KIT, ConformanceRecord, EnvironmentRecord

__all__ = ["Checked", "check", "judge"]

_RECORD = "record.json"
_MOST_REPORT = 64 * 2**20
_MOST_EXAMPLES = 8 * 2**20
_OBSERVATION_SECONDS = 120.0
_LONGEST_EXAMPLE = first_observations.MOST + first_observations.MOST_OF_PICTURES


@dataclass(frozen=True)
class Checked:
    """The result of running the kit on a wheel."""

    record: ConformanceRecord | None
    """The conformance record; None if the kit did not finish."""
    isolation: Isolation | None
    """The isolation of the code; None if unknown."""
    refusals: tuple[Refusal, ...]
    warnings: tuple[Refusal, ...] = ()
    examples: dict[str, str] = field(default_factory=dict)
    """Environment id → the first observation."""

    @property
    def passed(self) -> bool:
        return self.record is not None and not self.refusals

    def event(self, verdict: GateResult, by: str) -> Conformance:
        """Return the conformance event for the hub.

        Raises:
            HubRefusal: if there is no record, or it is invalid.
        """
        if self.record is None or verdict.wheel is None:
            raise HubRefusal(f"{verdict.filename}: there is no conformance record")
        try:
            return Conformance(
                name=verdict.wheel.name,
                version=verdict.wheel.version,
                by=by,
                record=self.record.to_dict(),
                examples=self.examples,
                isolation=self.isolation or "",
                sha256=verdict.sha256,
            )
        except ValueError as error:
            raise HubRefusal(f"{verdict.filename}: {reasons(error)}") from error


def check(
    verdict: GateResult,
    content: bytes,
    sources: Sources = Sources(),  # noqa: B008  # frozen
    bounds: Bounds = Bounds(),  # noqa: B008
    policy: HubPolicy = HubPolicy(),  # noqa: B008
    way: Isolation | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Install a wheel that passed the gate into an empty environment, and run the kit on it there.

    Args:
        verdict: the result of the gate.
        content: the bytes of the wheel.
        sources: the sources of dependencies.
        bounds: the limits of the kit's run.
        policy: what the hub's operator has decided.
        way: the isolation of the code; the strongest available by default.
        report: receives a description of each step.

    Raises:
        HubRefusal: if the wheel has not passed the gate.
        HubError: if the wheel cannot be installed.
    """
    if verdict.wheel is None or not verdict.passed:
        raise HubRefusal(f"{verdict.filename}: has not passed the gate, so that nothing of it is run")
    with tempfile.TemporaryDirectory(prefix="gem-hub-") as scratch:
        root = Path(scratch).resolve()
        wheel = root / verdict.filename
        wheel.write_bytes(content)
        report("installing it into an empty environment")
        python = install(wheel, root / "venv", sources)
        report("running the conformance kit")
        kit = [str(python), "-I", "-m", "gem", "check", verdict.wheel.name, "--report", _RECORD]
        kit += attack_options(len(verdict.specs), bounds.seconds)
        finished = run(kit, [root / "venv"], {_RECORD: _MOST_REPORT}, bounds, way)
        record_file = root / _RECORD
        if _RECORD in finished.files:
            record_file.write_bytes(finished.files[_RECORD])
        checked = _read(record_file, finished, verdict, policy)
        if checked.record is None:
            return checked
        report("asking each environment for an observation")
        examples = _examples(verdict, python, root / "venv", bounds, finished.isolation)
        findings = GateFindings()
        for env_id, text in examples.items():
            _check_secrets(text, f"{env_id}, example observation", findings)
        return replace(checked, refusals=(*checked.refusals, *findings.refusals), examples=examples)


def judge(record_file: Path, verdict: GateResult, policy: HubPolicy = HubPolicy()) -> Checked:  # noqa: B008  # frozen
    """Judge a conformance record that was made elsewhere; it is only read as data.

    Args:
        record_file: the output of ``gem check --report``.
        verdict: the result of the gate for the wheel.
        policy: what the hub's operator has decided.
    """
    findings = GateFindings()
    record = _parsed(record_file, findings)
    if record is not None:
        _judge(record, verdict, policy, findings)
    return Checked(record, None, tuple(findings.refusals), tuple(findings.warnings))


def _read(record_file: Path, finished: Finished, verdict: GateResult, policy: HubPolicy) -> Checked:
    findings = GateFindings()
    record = None
    if finished.stopped == "time":
        message = "was not done in time; allow more with --timeout, or make the environments faster"
        findings.refuse("conformance.time", verdict.filename, f"the conformance kit {message}")
    elif finished.stopped == "memory":
        message = (
            f"its processes needed more than {Bounds().memory / 2**30:g} GiB of memory together; let them need less"
        )
        findings.refuse("conformance.memory", verdict.filename, message)
    elif finished.code not in (0, 1) or not _is_plain(record_file, _MOST_REPORT):
        said = " | ".join(sanitize(line) for line in finished.output.splitlines()[-6:])
        message = f"the conformance kit ended with code {finished.code} and said: {said or 'nothing'}"
        findings.refuse("conformance.failed", verdict.filename, message)
    else:
        record = _parsed(record_file, findings)
    if record is not None:
        _check_secrets("\n".join(_texts(record.to_dict())), record_file.name, findings)
        _judge(record, verdict, policy, findings)
    if finished.isolation == "none":
        findings.warn(
            "conformance.unsandboxed",
            verdict.filename,
            "its code ran without a sandbox, as there is none here; use Linux, where users may make namespaces",
        )
    return Checked(record, finished.isolation, tuple(findings.refusals), tuple(findings.warnings))


def _parsed(record_file: Path, findings: GateFindings) -> ConformanceRecord | None:
    try:
        if not _is_plain(record_file, _MOST_REPORT):
            raise ArgumentError(f"{record_file.name}: is missing, no plain file, or has over {_MOST_REPORT} bytes")
        return ConformanceRecord.read(record_file)
    except (ArgumentError, OSError) as error:
        findings.refuse("conformance.record", record_file.name, sanitize(str(error))[:1000])
        return None


def _check_secrets(text: str, where: str, findings: GateFindings) -> None:
    """Refuse output of the code if it holds a secret, because output is published."""
    kind = find_own_secret(text)
    if kind is not None:
        message = f"shows {kind}, and would be published; change that secret, and do not trust this package"
        findings.refuse("conformance.secret", where, message)


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in JSON values, keys too; in JSON text they could be escaped."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _texts(inner)


def _is_plain(path: Path, most: int) -> bool:
    """Return whether a file that untrusted code made is safe to read: no link, no endless pipe, not huge."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= most


def _judge(record: ConformanceRecord, verdict: GateResult, policy: HubPolicy, findings: GateFindings) -> None:
    assert verdict.wheel is not None
    name, version = verdict.wheel.name, verdict.wheel.version
    told = {env.id: env for package in record.packages for env in package.environments}
    offered = {spec.id: spec for spec in verdict.specs}
    about = {(normalized_distribution(package.distribution or ""), package.version) for package in record.packages}
    if about != {(name, version)}:
        findings.refuse(
            "conformance.record", "", f"the record is about {sorted(map(str, about))}, not {name} {version}"
        )
    elif not _is_made_from(record, verdict.wheel):
        message = (
            "the record was made from other files than those of this wheel; install the wheel into an empty "
            "environment and run there: gem check --report"
        )
        findings.refuse("conformance.digest", verdict.filename, message)
    if record.kit != KIT:
        findings.refuse(
            "conformance.record", "", f"the record is of kit {record.kit}, and this is {KIT}; check it anew"
        )
    if told.keys() != offered.keys():
        missing = sorted(told.keys() ^ offered.keys())[:4]
        message = f"the record and the manifest differ in environments, such as {', '.join(missing)}; check all of them"
        findings.refuse("conformance.record", "", message)
    accepted = policy.accepts(name, "conformance.violated")
    tolerated = frozenset(CLAUSES) if accepted else frozenset(policy.tolerated_clauses)
    for env_id, environment in told.items():
        exempt = offered[env_id].to_dict().get("exempt") or {} if env_id in offered else {}
        _judge_environment(environment, dict(exempt), tolerated, findings)
        judge_attacks(environment, exempt, findings)


def _is_made_from(record: ConformanceRecord, wheel: Wheel) -> bool:
    """Return whether a record is about the files of a wheel; the wheel's own digest counts where the record has it."""
    return all(
        package.source_digest == wheel.source_digest(package.import_name)
        and package.wheel_sha256 in (None, wheel.archive.sha256)
        for package in record.packages
    )


def _judge_environment(
    environment: EnvironmentRecord, exempt: dict[str, Any], tolerated: frozenset[str], findings: GateFindings
) -> None:
    results = {result.clause: result for result in environment.clauses}
    missing = CLAUSES.keys() - results.keys()
    if missing:
        message = f"has no result for {', '.join(sorted(missing)[:4])}; run the whole kit"
        findings.refuse("conformance.incomplete", environment.id, message)
    for clause, result in results.items():
        message = f"{clause}: {sanitize(result.message)[:500]}"
        if result.exempt:
            if clause in exempt:
                findings.warn("conformance.exempt", environment.id, message)
            else:
                text = f"the record exempts it from {clause}, and its manifest does not"
                findings.refuse("conformance.record", environment.id, text)
        elif result.outcome == "violated" and clause in tolerated:
            findings.warn("conformance.tolerated", environment.id, message)
        elif result.outcome == "violated":
            findings.refuse("conformance.violated", environment.id, message)


def _examples(verdict: GateResult, python: Path, venv: Path, bounds: Bounds, way: Isolation) -> dict[str, str]:
    """Return first observations, or none after a failure, because they only decorate a page."""
    script = shutil.copy(first_observations.__file__, venv / "first_observations.py")
    target = "observations.jsonl"
    command = [str(python), "-I", str(script), target, *(spec.id for spec in verdict.specs)]
    seconds = min(bounds.seconds, _OBSERVATION_SECONDS)
    finished = run(command, [venv], {target: _MOST_EXAMPLES}, replace(bounds, seconds=seconds), way)
    offered = {spec.id for spec in verdict.specs}
    examples: dict[str, str] = {}
    try:
        for line in finished.files.get(target, b"").decode("utf-8", "replace").splitlines():
            env_id, text = json.loads(line)
            if env_id in offered and isinstance(text, str) and len(text) <= _LONGEST_EXAMPLE:
                examples[env_id] = text
    except (ValueError, TypeError, RecursionError):
        pass
    return examples
