"""What stands between a task and a run that can be trusted: :func:`audit_task`.

The static part reads the files of a task and starts nothing. Its findings about scripts follow from patterns in their
text: they point to what a person should look at, and prove nothing. The dynamic part is ``gem terminal audit --run``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath

from gem_terminal.engines.namespace.dockerfile import parse
from gem_terminal.errors import TaskError
from gem_terminal.formats.fields import SEVERAL, UNSET
from gem_terminal.task import Task
from gem_terminal.task_set import TaskFolder
from gem_terminal.verdicts.declarations import COMMON_FOLDERS, declarations_of
from gem_terminal.verdicts.verdict_worth import verdict_worth
from gem_terminal.verdicts.verifier_result import DOUBTS
from gem_terminal.verdicts.verifier_scripts import scripts_of, unparsable_tests

__all__ = ["FINDINGS", "Finding", "TaskAudit", "audit_task"]

FINDINGS = {
    "malformed": "cannot be read",
    "unsupported": "needs an unsupported feature",
    "unset-variable": "needs an environment variable that is not set",
    "several-containers": "needs several containers",
    "network": "has a network",
    "tests-need-network": "tests download something",
    "services": "tests connect to a server of the agent",
    "namespace-build": "cannot be built by the namespace engine",
    "missing-context": "the Dockerfile copies a missing file",
    "forgeable": "the agent can forge the verdict",
    "tests-do-not-parse": DOUBTS["tests-do-not-parse"],
    "writable-reward": DOUBTS["writable-reward"],
    "all-skipped": DOUBTS["all-skipped"],
    "out-of-range": DOUBTS["out-of-range"],
    "no-number": DOUBTS["no-number"],
    "runs-agent-files": "tests import or execute the agent's files",
    "undeclared-paths": "tests read paths that the pristine verifier does not carry",
    "no-solution": "has no solution",
    "build-fails": "its image cannot be built",
    "noop-scores": "doing nothing earns a reward",
    "oracle-fails": "its solution fails",
    "oracle-fails-pristine": "its solution fails under the pristine verifier",
}
"""Each kind of finding → its meaning."""

_DOWNLOADS = re.compile(
    r"\b(?:apt-get|apt|apk|yum|dnf)\s+(?:-\S+\s+)*(?:update|install|add)\b"
    r"|\b(?:pip3?|uv pip|uv tool|npm|gem|cargo)\s+(?:install|add)\b|\buvx\b|\buv\s+run\b.*--with"
    r"|\b(?:curl|wget)\s[^\n|]*https?://(?!localhost|127\.0\.0\.1)|\bgit\s+clone\s+http"
)
_CONNECTS = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5}|(?:connect|connect_ex|create_connection)\(\s*\(\s*['\"](?:localhost|127\.0\.0\.1)"
    r"|\b(?:nc|netstat|ss)\s+-\w*[zl]|\bpg_isready\b|\bredis-cli\b|\bsystemctl\s+is-active\b|\b(?:pgrep|pidof)\s"
)
_EXECUTES = re.compile(
    r"sys\.path\.(?:insert|append)|importlib\.(?:import_module|util)|runpy\.|\bexec\(\s*open|PYTHONPATH=|"
    r"subprocess\.(?:run|check_output|check_call|Popen|call)\(|os\.(?:system|popen)\(|\bcd\s+/\S+\s*&&\s*(?:make|python3?|bash|sh|node|\./)"
)
_OPENS = re.compile(
    r"\bchmod\s+(?:-\S+\s+)*(?:0?[0-7]?[0-7][2367][0-7]|0?[0-7]?[0-7][0-7][2367]|[ugoa]*[goa][ugoa]*\+\w*w\w*|\+w)\s+\S*/logs"
)
_PATH = re.compile(r"(?<![\w.:/$}-])(?:/[A-Za-z0-9_.+-]+){2,}")
_INNER = tuple(
    map(
        PurePosixPath,
        ("/tests", "/logs", "/solution", "/bin", "/usr/bin", "/usr/local/bin", "/dev", "/proc", "/root/.local/bin"),
    )
)
"""Paths in the scripts of tests that are not results of an agent."""
_COPIES = re.compile(r"^\s*(?:COPY|ADD)\s+(?!--from)((?:--\S+\s+)*)([^\n\\]+)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One finding about a task."""

    kind: str
    """One of :data:`FINDINGS`."""
    detail: str = ""


@dataclass
class TaskAudit:
    """The findings about a task."""

    name: str
    folder: str
    findings: list[Finding] = field(default_factory=list)
    verdict: str | None = None
    """See :func:`~gem_terminal.verdicts.verdict_worth.verdict_worth`; None for a task that cannot be used."""
    oracle: float | None = None
    """The reward of the solution; None if it was not played."""
    nothing: float | None = None
    oracle_pristine: float | None = None
    """The reward of the solution under the pristine verifier."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of the findings, without repetition."""
        return list(dict.fromkeys(finding.kind for finding in self.findings))

    def add(self, kind: str, detail: str = "") -> None:
        """Add a finding."""
        assert kind in FINDINGS
        self.findings.append(Finding(kind, detail[:300]))


def audit_task(found: TaskFolder) -> TaskAudit:
    """Return the static findings about a task; takes about a millisecond."""
    audit = TaskAudit(found.name, str(found.folder))
    task = found.task
    if task is None:
        several = found.need is not None and found.need.startswith(SEVERAL)
        needed = "unset-variable" if found.need == UNSET else "several-containers" if several else "unsupported"
        audit.add("malformed" if found.need is None else needed, found.error or "")
        return audit
    worth = verdict_worth(task)
    audit.verdict = worth.level
    if worth.is_forgeable:
        audit.add("forgeable", worth.reason)
    if task.limits.network:
        audit.add("network", "its files ask for it" if task.network_is_stated else "its format gives it one")
    if task.side_cars:
        audit.add("several-containers", ", ".join(side_car.name for side_car in task.side_cars))
    if task.solution is None:
        audit.add("no-solution")
    _audit_image(task, audit)
    _audit_tests(task, audit)
    return audit


def _audit_image(task: Task, audit: TaskAudit) -> None:
    folder = task.image.folder
    if folder is None:
        return
    try:
        parse(folder / task.image.dockerfile)
        text = (folder / task.image.dockerfile).read_text(encoding="utf-8")
    except TaskError as error:
        audit.add("namespace-build", str(error))
        return
    except (OSError, UnicodeDecodeError) as error:
        audit.add("missing-context", str(error))
        return
    for found in _COPIES.finditer(text):
        for source in found[2].split()[:-1]:
            if not re.search(r"[$*?\[\]\"']|<<|://", source) and not (folder / source.lstrip("/")).exists():
                audit.add("missing-context", f"{found[0].strip()}: {source} is not in {folder}")


def _audit_tests(task: Task, audit: TaskAudit) -> None:
    declared = [*map(PurePosixPath, COMMON_FOLDERS), *declarations_of(task).places, *_INNER]
    declared += [PurePosixPath(path) for path in (task.workdir, _workdir(task)) if path and path != "/"]
    undeclared: dict[str, None] = {}
    found: dict[str, str] = {}
    for path, text in chain.from_iterable(scripts_of(task.at_step(step)) for step in range(len(task.steps) or 1)):
        for kind, pattern in (
            ("tests-need-network", _DOWNLOADS),
            ("services", _CONNECTS),
            ("runs-agent-files", _EXECUTES),
            ("writable-reward", _OPENS),
        ):
            match = pattern.search(text)
            if match is not None:
                found.setdefault(kind, f"{path.name}: {_line(text, match)}")
        for mention in _PATH.findall(text):
            place = PurePosixPath(mention.rstrip("."))
            if not any(place == each or each in place.parents for each in declared):
                undeclared[str(place)] = None
    for step in range(len(task.steps) or 1):
        for name, why in unparsable_tests(task.at_step(step)).items():
            found.setdefault("tests-do-not-parse", f"{name}: {why}")
    for kind, detail in found.items():
        audit.add(kind, detail)
    if undeclared and task.tests.separate is None:
        audit.add("undeclared-paths", ", ".join(list(undeclared)[:8]))


def _workdir(task: Task) -> str | None:
    if task.image.folder is None:
        return None
    try:
        text = (task.image.folder / task.image.dockerfile).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    folders = re.findall(r"^\s*WORKDIR\s+(/\S*)", text, re.IGNORECASE | re.MULTILINE)
    return folders[-1] if folders else None


def _line(text: str, match: re.Match[str]) -> str:
    begin = text.rfind("\n", 0, match.start()) + 1
    return text[begin:].split("\n", 1)[0].strip()[:200]
