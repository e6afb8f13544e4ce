"""Playing an environment in processes of their own: with other hash seeds, watched, or without the environment."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem_testing.episodes import Script, StepRecord
from gem_testing.outcomes import Violation
from gem_testing.probe import ProbeTask

__all__ = ["HASH_SEEDS", "ProbeReport", "ProcessState", "actions_elsewhere", "episodes_elsewhere", "watch"]

HASH_SEEDS = (0, 1, 4242)
TIMEOUT = 300.0
"""Wall-clock seconds after which a process counts as hanging."""
MOST_OUTPUT = 100_000
"""Maximum number of bytes of output that are read."""


@dataclass(frozen=True)
class ProcessState:
    """The state that a process passes to its children, from before the environment could change it."""

    path: list[str]
    variables: dict[str, str]
    umask: int

    @classmethod
    def now(cls) -> ProcessState:
        """Return the state of this process."""
        umask = os.umask(0)
        os.umask(umask)
        # The other process works in a folder of its own, where relative paths would be wrong.
        return cls([str(Path(path).absolute()) for path in sys.path], dict(os.environ), umask)


@dataclass(frozen=True)
class ProbeReport:
    """The behaviour of an environment in a process that watched it."""

    seen: dict[str, Any]
    """The observations as :mod:`gem_testing.probe` wrote them."""
    output: tuple[str, str]
    """Standard output and standard error while the environment played."""
    output_at_import: tuple[str, str]

    @property
    def episodes(self) -> list[list[StepRecord]]:
        """The records of every script, played with the first of :data:`HASH_SEEDS`."""
        return _records(self.seen)


def watch(spec: EnvSpec, scripts: list[Script], state: ProcessState) -> ProbeReport:
    """Return an environment's effects on a process: imports, output, connections and residue.

    Args:
        spec: the environment, which another process can import.
        scripts: episodes to play.
        state: of the new process.
    """
    task = ProbeTask(state.path, _named(spec), scripts, watched=True)
    seen, output = _run(task, state, HASH_SEEDS[0])
    cuts = seen["imported"]["printed"]
    texts = [text.decode(errors="replace") for text in output]
    return ProbeReport(
        seen,
        output=tuple(text[cut:] for text, cut in zip(texts, cuts, strict=True)),  # type: ignore[arg-type]  # two of them
        output_at_import=tuple(text[:cut] for text, cut in zip(texts, cuts, strict=True)),  # type: ignore[arg-type]
    )


def episodes_elsewhere(
    spec: EnvSpec, scripts: list[Script], state: ProcessState, hash_seed: int, backwards: bool = False
) -> list[list[StepRecord]]:
    """Return the records of every script in a process with this PYTHONHASHSEED.

    Args:
        spec: the environment, which another process can import.
        scripts: the episodes.
        state: of the new process.
        hash_seed: the value of PYTHONHASHSEED.
        backwards: play the last script first; the result is in the order of ``scripts``.
    """
    order = -1 if backwards else 1
    seen, _ = _run(ProbeTask(state.path, _named(spec), scripts[::order]), state, hash_seed)
    return _records(seen)[::order]


def actions_elsewhere(policy: str, observations: list[list[Any]], state: ProcessState) -> list[list[str]]:
    """Return the actions, frozen, that a policy chooses in a process without the environment.

    Args:
        policy: its entry point.
        observations: of each episode, one for each action.
        state: of the new process.
    """
    task = ProbeTask(state.path, policy=policy, observations=observations)
    actions: list[list[str]] = _run(task, state, HASH_SEEDS[0])[0]["actions"]
    return actions


def _records(seen: dict[str, Any]) -> list[list[StepRecord]]:
    return [[StepRecord(*record) for record in episode] for episode in seen["episodes"]]


def _named(spec: EnvSpec) -> EnvSpec:
    """Return a spec with its entry point as a string, even if it holds the class."""
    return replace(spec, entry_point=name_of(spec.entry_point))


def _run(task: ProbeTask, state: ProcessState, hash_seed: int) -> tuple[dict[str, Any], tuple[bytes, bytes]]:
    """Run a probe; return its observations and its output.

    Raises:
        Violation: if it fails, with its last output.
    """
    with tempfile.TemporaryDirectory(prefix="gem-probe-", ignore_cleanup_errors=True) as folder:
        work, temporary, result = Path(folder, "work"), Path(folder, "tmp"), Path(folder, "result.json")
        work.mkdir()
        temporary.mkdir()
        environment = {
            **state.variables,
            "PYTHONHASHSEED": str(hash_seed),
            "PYTHONPATH": os.pathsep.join(task.path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(temporary),
            "GEM_PROBE_WORK": str(work),
        }
        with Path(folder, "out").open("w+b") as out, Path(folder, "err").open("w+b") as err:
            try:
                done = subprocess.run(  # noqa: S603  # our own module
                    [sys.executable, "-m", "gem_testing.probe", result],
                    input=pickle.dumps(task),
                    stdout=out,
                    stderr=err,
                    cwd=work,
                    env=environment,
                    umask=state.umask,
                    timeout=TIMEOUT,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise Violation(f"in a process of its own it did not finish within {TIMEOUT:g} s") from error
            output = tuple(_content(file) for file in (out, err))
        if not result.exists():
            said = output[1].decode(errors="replace").strip().rpartition("\n")[2] or "nothing"
            raise Violation(
                f"in a process of its own (PYTHONHASHSEED={hash_seed}) it failed with exit code {done.returncode} and "
                f"said: {said}"
            )
        return json.loads(result.read_text(encoding="utf-8")), output  # type: ignore[return-value]  # two of them


def _content(file: Any) -> bytes:
    file.seek(0)
    return bytes(file.read(MOST_OUTPUT))
