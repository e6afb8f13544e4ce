"""``gem terminal audit``: what it finds in files, and what it finds by playing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem_terminal import engines
from gem_terminal.cli.audit import audit_command
from gem_terminal.engines import Engine
from gem_terminal.task_set import load_task_set
from gem_terminal.verdicts.audit import FINDINGS, audit_task

FILES = {
    "task.toml": "[agent]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n",
    "instruction.md": "Write hello into /app/hello.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /app\n",
    "tests/test.sh": (
        '#!/bin/bash\n[ "$(cat /app/hello.txt)" = hello ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n'
    ),
    "solution/solve.sh": "echo hello > /app/hello.txt\n",
}


def write_task(folder: Path, **files: str | None) -> Path:
    """Write the task, some of its files replaced, or left out where they are None."""
    for name, content in {**FILES, **files}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


CASES: dict[str, tuple[str, dict[str, str | None]]] = {
    "malformed": ("malformed", {"instruction.md": ""}),
    "unsupported": ("unsupported", {"task.toml": "[environment]\nos = 'windows'\n"}),
    "variable": ("unset-variable", {"task.toml": "[environment]\nenv = {KEY = '${NO_SUCH_VARIABLE}'}\n"}),
    "network": ("network", {"task.toml": "[environment]\n"}),
    "download": ("tests-need-network", {"tests/test.sh": "apt-get update && apt-get install -y curl\n"}),
    "uvx": ("tests-need-network", {"tests/test.sh": "uvx -p 3.13 pytest /tests\n"}),
    "server": ("services", {"tests/test_x.py": "requests.get('http://localhost:8080/x')\n"}),
    "mounts": ("namespace-build", {"environment/Dockerfile": "FROM a\nRUN --mount=type=cache,target=/x true\n"}),
    "context": ("missing-context", {"environment/Dockerfile": "FROM a\nCOPY --chown=1 gone.txt /app/\n"}),
    "import": ("runs-agent-files", {"tests/test_x.py": "sys.path.insert(0, '/app')\nimport answer\n"}),
    "elsewhere": ("undeclared-paths", {"tests/test_x.py": "open('/var/lib/thing/x')\n"}),
    "syntax": ("tests-do-not-parse", {"tests/test_x.py": "def test_x(:\n"}),
    "syntax around": ("tests-do-not-parse", {"tests/conftest.py": "import (\n"}),
    "open": ("writable-reward", {"tests/test.sh": "chmod -R 777 /logs/verifier; true\n"}),
    "open to all": ("writable-reward", {"tests/test.sh": "chmod a+w /logs/verifier/reward.txt\n"}),
    "no solution": ("no-solution", {"solution/solve.sh": None}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_files_tell(tmp_path: Path, case: str) -> None:
    """Each finding, beside that of an agent that works as root, comes with its detail."""
    kind, files = CASES[case]
    (entry,) = load_task_set(write_task(tmp_path, **files)).entries
    audit = audit_task(entry)
    assert set(audit.kinds) - {"forgeable"} == {kind}
    if kind != "no-solution":
        assert all(finding.detail for finding in audit.findings)


def test_a_plain_task_has_no_findings(tmp_path: Path) -> None:
    """If its agent is an ordinary user, or its verifier the pristine one."""
    toml = FILES["task.toml"].replace("[agent]", "[agent]\nuser = 'nobody'")
    (entry,) = load_task_set(write_task(tmp_path, **{"task.toml": toml})).entries
    assert audit_task(entry).findings == []
    assert audit_task(entry).verdict == "guarded"
    done = CliRunner().invoke(audit_command, [str(write_task(tmp_path)), "--verifier", "pristine", "--json"])
    assert [(one["verdict"], one["kinds"]) for one in json.loads(done.output)] == [("pristine", [])]


def test_a_table_of_many_tasks_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one row for each kind of finding, and none for each task."""
    monkeypatch.setattr("gem_terminal.cli.audit._MOST_ROWS", 3)
    for number in range(4):
        write_task(tmp_path / f"t{number}")
    (tmp_path / "t2" / "environment/docker-compose.yaml").write_text(
        "services: {main: {}, db: {image: 'debian:bookworm-slim', command: [sleep, '9']}}\n"
    )
    done = CliRunner().invoke(audit_command, [str(tmp_path)])
    assert done.exit_code == 0
    lines = [line.split() for line in done.output.splitlines() if line]
    assert [line[:2] for line in lines[1:-1]] == [["several-containers", "1"], ["forgeable", "4"]], done.output
    assert done.output.splitlines()[-1].startswith("4 tasks, 0 without findings")


def test_only_unusable_tasks_fail_the_command(tmp_path: Path) -> None:
    """As with ``gem terminal list``."""
    assert CliRunner().invoke(audit_command, [str(write_task(tmp_path, **{"instruction.md": ""}))]).exit_code == 1


@pytest.mark.only_engine("namespace")
def test_what_playing_tells(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that fails, a reward for nothing, and a solution that fails, always or under the pristine verifier."""
    monkeypatch.setattr(engines, "engine_by_name", lambda name: engine)
    write_task(tmp_path / "sound")
    write_task(tmp_path / "broken", **{"environment/Dockerfile": "FROM debian:bookworm-slim\nRUN exit 3\n"})
    write_task(tmp_path / "given", **{"tests/test.sh": "#!/bin/bash\necho 0.5 > /logs/verifier/reward.txt\n"})
    write_task(tmp_path / "generous", **{"tests/test.sh": FILES["tests/test.sh"].replace("1 - $?", "9 - 9 * $?")})
    elsewhere = {name: FILES[name].replace("/app/", "/") for name in ("tests/test.sh", "solution/solve.sh")}
    write_task(tmp_path / "elsewhere", **elsewhere, **{"instruction.md": "Write hello where it is expected."})
    done = CliRunner().invoke(audit_command, [str(tmp_path), "--run", "--jobs", "2", "--json"])
    assert done.exit_code == 0, done.output
    audits: dict[str, Any] = {one["name"]: one for one in json.loads(done.output)}
    played = {name: (one["oracle"], one["nothing"], one["oracle_pristine"]) for name, one in audits.items()}
    assert played == {
        "sound": (1.0, 0.0, 1.0),
        "broken": (None, None, None),
        "given": (0.5, 0.5, None),
        "generous": (1.0, 0.0, 1.0),
        "elsewhere": (1.0, 0.0, 0.0),
    }
    kinds = {name: set(one["kinds"]) - {"forgeable", "undeclared-paths"} for name, one in audits.items()}
    assert kinds == {
        "sound": set(),
        "broken": {"build-fails"},
        "given": {"noop-scores", "oracle-fails"},
        "generous": {"out-of-range"},
        "elsewhere": {"oracle-fails-pristine"},
    }
    assert set().union(*kinds.values()) <= set(FINDINGS)
