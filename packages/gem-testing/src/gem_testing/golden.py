"""Golden episodes: recorded episodes that a test compares an environment with.

After an intended change of an environment the author updates its golden files; their diff shows the change as an
agent sees it. After an unintended change, a test fails with the first difference.

The files have the format of :func:`gem.trajectory.read_trajectories`, ``gem show`` and ``gem replay``, without the
fields that change while the behaviour stays the same: times, versions, digests and descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing, nullcontext
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, TrajectoryError
from gem.policies import Policy, make_policy
from gem.registry import make
from gem.wrappers import WrapperLike, apply_wrappers
from gem_rollout import play_episode
from gem_rollout.replay import compare, replay_all
from gem_rollout.trajectory import Trajectory, read_trajectories
from gem_testing.outcomes import Violation

__all__ = ["Golden", "PolicyLike", "assert_golden"]

PolicyLike = str | Policy[Any, Any] | Callable[[Env[Any, Any]], Policy[Any, Any]]
"""``"reference"``, ``"random"``, a policy, or a function from the environment to one."""

_OF_A_SPEC = ("id", "entry_point", "kwargs", "distribution", "wrappers")
"""The fields from which an environment is made again; the rest of a spec describes it."""


def assert_golden(
    path: Path,
    make_trajectories: Callable[[], Iterable[Trajectory]],
    update: bool = False,
    *,
    ignore: Collection[str] = (),
    advice: str = "call assert_golden with update=True",
) -> bool:
    """Fail unless episodes equal those of a golden file.

    Args:
        path: the file, JSON lines.
        make_trajectories: plays the episodes.
        update: write the file instead of comparing.
        ignore: fields to leave out, as in :func:`~gem_rollout.replay.replay`; ignored keys of info are not written.
        advice: instructions for writing the file, for messages.

    Returns:
        Whether the file was written; a file with the same bytes stays untouched.

    Raises:
        Violation: an AssertionError with the first difference, or because the file is missing.
        TrajectoryError: if the file is broken, or an episode cannot be written as JSON.
    """
    __tracebackhide__ = True
    if update:
        content = b"".join(_line(trajectory, ignore) for trajectory in make_trajectories())
        if path.is_file() and path.read_bytes() == content:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return True
    if not path.is_file():
        raise Violation(f"the golden file {path} does not exist; to write it, {advice}")
    recorded = list(read_trajectories(path, strict=True))
    # One by one: after the first difference no further episode is played, and the environment is closed at once.
    with closing(_each(make_trajectories)) as episodes:
        for number, (old, new) in enumerate(zip_longest(recorded, episodes)):
            if old is None or new is None:
                count = "more" if old is None else str(number)
                raise Violation(
                    f"{path} holds {len(recorded)} episode(s), and {count} were played; to update it, {advice}"
                )
            if _name(old) != _name(new):
                raise Violation(f"{path}, episode {number}, is {_name(old)}, not {_name(new)}; to update it, {advice}")
            difference = compare(old, new, ignore=ignore)
            if difference is not None:
                raise Violation(
                    f"{_name(new)} differs from {path}, episode {number}: {difference}; if that is intended, {advice}"
                )
    return False


class Golden:
    """Plays episodes and compares them with golden files; the pytest fixture ``golden`` returns one.

    Args:
        folder: where the files are.
        update: write the files instead of comparing.
        advice: instructions for writing a file, for messages.
        written: called with the path of each file that was written.
    """

    def __init__(
        self, folder: Path, *, update: bool, advice: str, written: Callable[[Path], object] = lambda path: None
    ) -> None:
        self.folder = folder
        self.update = update
        self.advice = advice
        self._written = written

    def __call__(
        self,
        name: str,
        environment: str | EnvSpec | Env[Any, Any] | None = None,
        *,
        policy: PolicyLike = "reference",
        seeds: Iterable[int] = range(3),
        wrappers: WrapperLike | Iterable[WrapperLike] = (),
        max_turns: int | None = None,
        ignore: Collection[str] = (),
    ) -> None:
        """Compare an environment's episodes with the file ``<name>.jsonl``.

        Args:
            name: name of the file, without folder and suffix.
            environment: an id, a spec, or an environment. Without one, the file's own episodes are replayed, for
                example those recorded with ``gem play ID --out FILE``.
            policy: the agent.
            seeds: one episode is played for each.
            wrappers: as in :func:`gem.make`; the record names them.
            max_turns: stop episodes after this number of turns.
            ignore: fields to leave out, as in :func:`gem_rollout.replay.replay`.

        Raises:
            Violation: as :func:`assert_golden`.
        """
        __tracebackhide__ = True
        if name in ("", "..") or name != Path(name).name:
            raise ArgumentError(f"the name of a golden file must be a file name, got {name!r}")
        path = self.folder / f"{name}.jsonl"

        def episodes() -> Iterable[Trajectory]:
            if environment is None:
                return _replayed(path)
            return _played(environment, policy, seeds, wrappers, max_turns)

        if environment is None and not path.is_file():
            raise Violation(f"the golden file {path} does not exist; record it with: gem play ID --out {path}")
        if assert_golden(path, episodes, self.update, ignore=ignore, advice=self.advice):
            self._written(path)


def _each(make_trajectories: Callable[[], Iterable[Trajectory]]) -> Generator[Trajectory, None, None]:
    yield from make_trajectories()


def _played(
    environment: str | EnvSpec | Env[Any, Any],
    policy: PolicyLike,
    seeds: Iterable[int],
    wrappers: WrapperLike | Iterable[WrapperLike],
    max_turns: int | None,
) -> Iterable[Trajectory]:
    agent = policy if isinstance(policy, str) else ""
    # An environment that the caller passed belongs to the caller.
    given = isinstance(environment, Env)
    env = (
        apply_wrappers(environment, wrappers) if isinstance(environment, Env) else make(environment, wrappers=wrappers)
    )
    with nullcontext() if given else env:
        for seed in seeds:
            # A policy for each episode: its memory must not reach the next one.
            yield play_episode(env, _policy(policy, env), seed, max_turns=max_turns, agent=agent)


def _policy(policy: PolicyLike, env: Env[Any, Any]) -> Policy[Any, Any]:
    if isinstance(policy, str):
        return make_policy(policy, env)
    if isinstance(policy, Policy):
        return policy
    made = policy(env)
    if not isinstance(made, Policy):
        raise ArgumentError(f"policy must return a gem.Policy for an environment, got {made!r}")
    return made


def _replayed(path: Path) -> Iterable[Trajectory]:
    for outcome in replay_all(read_trajectories(path, strict=True)):
        if outcome.problem is not None or outcome.now is None:
            raise Violation(f"{path}: {_name(outcome.recorded)} cannot be replayed: {outcome.problem}")
        yield outcome.now


def _line(trajectory: Trajectory, ignore: Collection[str]) -> bytes:
    """Return a trajectory as a line of a golden file, without fields that may change under the same behaviour."""
    kept = replace(
        trajectory,
        started_at=None,
        seconds=None,
        reset_info=_kept(trajectory.reset_info, ignore),
        transitions=[
            replace(turn, info=_kept(turn.info, ignore), act_seconds=None, step_seconds=None)
            for turn in trajectory.transitions
        ],
    )
    try:
        record = kept.to_dict(whole=True)  # a diff of edits could not be read
    except TrajectoryError as error:
        raise TrajectoryError(f"{_name(trajectory)}: {error}") from error
    if record["spec"] is not None:
        record["spec"] = {name: record["spec"][name] for name in _OF_A_SPEC if record["spec"][name]}
    # Sorted, since the order of keys is not behaviour.
    text = json.dumps(record, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _kept(info: Info, ignore: Collection[str]) -> Info:
    return {} if "info" in ignore else {key: value for key, value in info.items() if f"info.{key}" not in ignore}


def _name(trajectory: Trajectory) -> str:
    environment = "an environment without a spec" if trajectory.spec is None else trajectory.spec.id
    return f"{environment} with seed {trajectory.seed}"
