"""Task folders in every format: what is read from them, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from gem.errors import ArgumentError
from gem_terminal import load_task, load_tasks
from gem_terminal.errors import TaskError

HARBOR = """
version = "1.0"
[metadata]
difficulty = "hard"
[agent]
timeout_sec = 900.0
[verifier]
timeout_sec = 120.0
env = { KEY = "${GEM_TEST_KEY:-none}" }
[environment]
memory = "2G"
storage = "10G"
cpus = 2
allow_internet = true
"""
BENCH = """
instruction: |-
  Say hello in hello.txt.
author_name: Somebody
difficulty: easy
tags: [files]
parser_name: pytest
max_agent_timeout_sec: 300.0
"""


def harbor(folder: Path, toml: str = HARBOR) -> Path:
    """Write a task of Harbor."""
    for name, content in {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": "FROM debian:bookworm-slim\n",
        "tests/test.sh": "#!/bin/bash\n",
        "solution/solve.sh": "#!/bin/bash\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def bench(folder: Path, yaml: str = BENCH) -> Path:
    """Write a task of Terminal-Bench 1."""
    for name, content in {
        "task.yaml": yaml,
        "Dockerfile": "FROM debian:bookworm-slim\n",
        "run-tests.sh": "#!/bin/bash\n",
        "solution.sh": "#!/bin/bash\n",
        "tests/test_outputs.py": "",
        "docker-compose.yaml": "services:\n  client:\n    build: {dockerfile: Dockerfile}\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_a_harbor_task_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes, times, network, environment and metadata come from task.toml, old keys included."""
    monkeypatch.setenv("GEM_TEST_KEY", "42")
    task = load_task(harbor(tmp_path / "mine"))
    assert (task.name, task.format, task.instruction) == ("mine", "harbor", "Do it.")
    assert (task.limits.memory, task.limits.disk, task.limits.cpus, task.limits.network) == (
        2 << 30,
        10 << 30,
        2.0,
        True,
    )
    assert (task.seconds, task.tests.seconds, task.tests.environment) == (900.0, 120.0, {"KEY": "42"})
    assert task.metadata["difficulty"] == "hard"
    assert task.solution == tmp_path / "mine" / "solution" / "solve.sh"


def test_a_newer_harbor_task_is_read(tmp_path: Path) -> None:
    """Version 1.4: a name with its organisation, users, network mode, working directory; unknown keys are let be."""
    toml = """
schema_version = "1.4"
[task]
name = "org/rename"
keywords = ["files"]
[agent]
user = "agent"
network_mode = "no-network"
[environment]
memory_mb = 512
workdir = "/app"
something_new = true
"""
    task = load_task(harbor(tmp_path / "folder", toml))
    assert (task.name, task.user, task.workdir) == ("rename", "agent", "/app")
    assert (task.limits.memory, task.limits.network) == (512 << 20, False)


def test_a_canary_is_no_part_of_the_instruction(tmp_path: Path) -> None:
    """The comment that marks a benchmark's files is left out."""
    folder = harbor(tmp_path / "task")
    (folder / "instruction.md").write_text("<!-- BENCHMARK DATA canary GUID 1-2-3 -->\n\nDo it well.\n")
    assert load_task(folder).instruction == "Do it well."


def test_a_task_of_terminal_bench_1_is_read(tmp_path: Path) -> None:
    """task.yaml, its tests in one flat folder, and pytest's summary as the reward."""
    task = load_task(bench(tmp_path / "hello"))
    assert (task.name, task.format, task.seconds) == ("hello", "terminal-bench", 300.0)
    assert [source.name for source in task.tests.sources] == ["run-tests.sh", "tests"]
    assert task.tests.reward == "pytest"
    assert task.metadata["tags"] == ["files"]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("[environment]\nos = 'windows'", "Windows"),
        ("[environment]\ngpus = 1", "GPU"),
        ("[environment]\nnetwork_mode = 'allowlist'", "listed hosts"),
        ("[[steps]]\nname = 'one'", "several steps"),
        ("[environment]\nmemory = 'lots'", "environment.memory"),
        ("[agent]\ntimeout_sec = 'soon'", "agent.timeout_sec"),
        ("[verifier]\nenv = { KEY = '${GEM_TEST_UNSET}' }", "GEM_TEST_UNSET"),
        ("= broken", "no TOML"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tmp_path: Path, section: str, words: str) -> None:
    """A task that needs more than there is, or is malformed, is an error that names the file and the reason."""
    with pytest.raises(TaskError, match=words) as caught:
        load_task(harbor(tmp_path / "task", section))
    assert "task.toml" in str(caught.value)


def test_several_containers_are_refused(tmp_path: Path) -> None:
    """Both formats can describe several services; neither is run as if it were one."""
    compose = "services:\n  client: {}\n  database: {}\n"
    folder = bench(tmp_path / "bench")
    (folder / "docker-compose.yaml").write_text(compose)
    with pytest.raises(TaskError, match="client, database"):
        load_task(folder)
    other = harbor(tmp_path / "harbor")
    (other / "environment" / "docker-compose.yaml").write_text(compose)
    with pytest.raises(TaskError, match="several containers"):
        load_task(other)


@pytest.mark.parametrize("missing", ["instruction.md", "tests/test.sh", "environment/Dockerfile"])
def test_what_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    """A folder without a part that every task has is refused with the part's path."""
    folder = harbor(tmp_path / "task")
    (folder / missing).unlink()
    with pytest.raises(TaskError, match=Path(missing).name):
        load_task(folder)


def test_a_folder_of_tasks_is_read_in_order(tmp_path: Path) -> None:
    """Formats may be mixed; other folders do not count."""
    harbor(tmp_path / "b")
    bench(tmp_path / "a")
    (tmp_path / "notes").mkdir()
    assert [task.name for task in load_tasks(tmp_path)] == ["a", "b"]
    assert [task.name for task in load_tasks(tmp_path / "a")] == ["a"]


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    """No folder, and no task in it, are two clear errors."""
    with pytest.raises(ArgumentError, match=r"task\.toml or task\.yaml"):
        load_tasks(tmp_path)
    with pytest.raises(ArgumentError, match="nothing-here"):
        load_tasks(tmp_path / "nothing-here")
