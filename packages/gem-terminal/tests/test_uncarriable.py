"""Trees that no engine can carry, or only at the cost of the trainer: a verdict of 0 that says why."""

from __future__ import annotations

import io
import tarfile
import time
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from gem_terminal import TerminalEnv, load_task
from gem_terminal.engines import Engine
from gem_terminal.engines.base import FileChanges
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits
from gem_terminal.verdicts import pristine
from gem_terminal.verdicts.carried_files import CarryRules
from gem_terminal.verdicts.verification import verify

FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nworkdir = '/app'\nstorage_mb = 64\n",
    "instruction.md": "Write 42 into answer.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /app\n",
    "tests/test.sh": "#!/bin/bash\ngrep -qx 42 /app/answer.txt; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
}
NESTED = """perl -e 'for (1..400) { mkdir "0123456789"; chdir "0123456789" }'"""
"""Folders with a path that is longer than Linux takes at once."""


@pytest.fixture
def task_folder(tmp_path: Path) -> Path:
    """A task whose container has a disk of 64 MiB."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def finish(engine: Engine, folder: Path, command: str) -> dict[str, object]:
    """Play an episode of one command; return its last info, with the reward."""
    with TerminalEnv(path=folder, engine=engine, strict=True, warm=0) as env:
        env.reset(seed=0)
        env.step(f"<bash>{command}</bash>")
        _, reward, terminated, truncated, info = env.step("<finish/>")
    assert (terminated, truncated) == (True, False), info
    return {**info, "reward": reward}


@pytest.mark.nightly
@pytest.mark.only_engine("docker", "namespace")
@pytest.mark.every_engine
def test_a_tree_too_deep_to_name_is_no_error_of_the_engine(engine: Engine, task_folder: Path) -> None:
    """Where the engine can leave it behind, the work beside it counts; Docker cannot, and the verdict says so."""
    info = finish(engine, task_folder, f"echo 42 > answer.txt; {NESTED}")
    if engine.name == "namespace":
        assert info["reward"] == 1.0, info
    else:
        assert (info["reward"], "too deep" in str(info["verifier_error"])) == (0.0, True), info


@pytest.mark.only_engine("docker", "namespace")
@pytest.mark.every_engine
def test_files_too_large_to_carry_earn_nothing(
    engine: Engine, task_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holes count as what they stand for: the trainer would hold them."""
    monkeypatch.setattr(pristine, "_MOST_CARRIED", 10 << 20)
    info = finish(
        engine, task_folder, "echo 42 > answer.txt; head -c 1000 /dev/zero > big.bin; truncate -s 20M big.bin"
    )
    assert info["reward"] == 0.0
    assert "larger than" in str(info["verifier_error"]) or "too large" in str(info["verifier_error"])


@pytest.mark.only_engine("namespace")
def test_carrying_holds_little_more_than_twice_the_files(engine: Engine, small: Image) -> None:
    """Their content is there in two archives, and nowhere else; a hole counts as the zeros that it stands for."""
    size = 64 << 20
    with engine.start(engine.prepare(small), ResourceLimits(memory=1 << 30)) as container:
        container.run(("sh", "-c", f"mkdir /app; truncate -s {size} /app/sparse.bin"), seconds=60.0)
        tracemalloc.start()
        try:
            changes = container.changes(("/app",))
            carried = CarryRules(declared=(PurePosixPath("/app"),)).carried(changes, lambda paths: {})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert len(carried.archive) > size
    assert peak < 2.4 * size


def test_a_deep_tree_costs_no_more_than_as_many_files() -> None:
    """Of five hundred folders in each other, and of as many beside each other: within a factor."""

    def seconds(paths: Iterable[str]) -> float:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path in paths:
                member = tarfile.TarInfo(path)
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
        changes = FileChanges((("/", buffer.getvalue()),), ("/app/gone",))
        rules = CarryRules(declared=(PurePosixPath("/app"),), targets={PurePosixPath("/app/check"): False})
        begin = time.process_time()
        rules.carried(changes, lambda paths: {})
        return time.process_time() - begin

    wide = min(seconds(["app", *(f"app/{number:04}" for number in range(500))]) for _ in range(2))
    assert min(seconds("app" + "/d" * depth for depth in range(500)) for _ in range(2)) < 12 * wide


@pytest.mark.only_engine("namespace")
def test_a_fault_of_the_engine_is_no_verdict(engine: Engine, task_folder: Path) -> None:
    """A container that is gone is an error; only what the agent decides is a 0."""
    task = replace(load_task(task_folder), pristine=True)
    container = engine.start(engine.prepare(task.image), task.limits)
    container.remove()
    with pytest.raises(EngineError):
        verify(task, container, engine)
