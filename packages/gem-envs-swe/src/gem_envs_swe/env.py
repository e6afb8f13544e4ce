"""The environment of tasks on a repository: :class:`SweEnv`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gem.arguments import boolean, choice, integer, real
from gem.core import Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_swe.task_set import REPOSITORY
from gem_envs_swe.verdicts.verdict import SweVerdict, VerdictOptions, judge
from gem_envs_swe.workplace.actions import SWE_ACTIONS, actions_without_tests
from gem_envs_swe.workplace.task_choice import chosen_tasks
from gem_envs_swe.workplace.tasks import SweTask, load_tasks
from gem_envs_swe.workplace.tools import use_tool
from gem_terminal.actions import OtherAction
from gem_terminal.engines import Engine
from gem_terminal.engines.base import Container
from gem_terminal.env import TerminalEnv
from gem_terminal.episodes.task_session import ActionResult, TaskSession
from gem_terminal.task import Task
from gem_terminal.verdicts.verification import VerifierResult

__all__ = ["SweEnv"]

_SYNTAX = """\
The repository is in {place}, and your shell begins there. Write one action a turn: a command between <bash> and \
</bash> (it reads from /dev/null and may take {seconds:g} seconds), a call of another tool such as \
<tool_call>{{"name": "view", "arguments": {{"path": "README.md"}}}}</tool_call>, or <submit/> when you are done. \
The tools are {tools}. You have {turns} turns. Hidden tests then verify the repository; changes of tests and of their \
configuration do not count."""
_ARGUMENTS = {
    "view": "view (path, first, last)",
    "edit": "edit (path, old, new)",
    "search": "search (pattern, path)",
    "run_tests": "run_tests (tests)",
}


class SweEnv(TerminalEnv):
    """A task on the repository of a package: the agent changes it, and hidden tests verify the changes.

    An episode has one container and one shell, as in :class:`~gem_terminal.TerminalEnv`. The tools are ``bash``,
    ``view``, ``edit``, ``search``, ``submit`` and, by option, ``run_tests``. The last turn earns the reward, all other
    turns 0.0. A malformed action costs a turn.

    **Verdict.** The tests run in a fresh container of the image, with the tree that the agent began with, those of its
    changes that count, and the hidden tests. Tests, what configures them, the interpreter and its libraries are the
    image's own. Tests that must fail stand among the hidden ones; a run in which one of them passes, which ends early,
    or in which pytest was changed, is worth nothing. Code that runs beside its tests can still look for them in memory;
    that is not ruled out.

    **Info.** Always ``task``, ``turn``, ``action_status``; after a tool ``exit_code``, after native calls
    ``tool_results``. At the end ``success``; ``diff``, the agent's tree as a diff against the tree that it began with,
    at most 200,000 characters; ``diff_ignored``, changed paths that did not count; ``tests_mended`` and
    ``tests_to_mend`` (FAIL_TO_PASS), ``tests_kept`` and ``tests_broken`` (PASS_TO_PASS); ``tests_failing``, names;
    ``verifier_log``, and ``verifier_error`` if the run was worth nothing. A fault of the container or the
    engine truncates the episode with ``info["error"]``.

    Args:
        path: the folder of a set, as ``gem swe make`` writes it.
        tasks: the names of the tasks to use; None for all.
        kinds: the kinds of tasks to use, such as ``["bug", "feature"]``; None for all.
        level: the level of the tasks to use; None for all.
        engine: see :class:`~gem_terminal.TerminalEnv`.
        max_turns: the turns of an episode.
        command_seconds: the default time limit of a command, in seconds.
        episode_seconds: the time limit of an episode, in seconds; None for no limit.
        output: the bytes of a tool's output in an observation; the middle of a longer output is cut out.
        reward: ``"all"``: 1.0 if every test that is run passes. ``"fraction"``: the share of FAIL_TO_PASS that passes.
            ``"regressions"``: that share, less one share of a test for each broken test of PASS_TO_PASS, at least 0.0.
        pass_to_pass: how many tests of PASS_TO_PASS are run; the verdict draws them. None for all.
        verify_seconds: the time limit of the hidden tests, in seconds.
        run_tests: whether the agent has the tool ``run_tests``.
        instructions: whether the first observation explains text actions and the turn limit.
        recordings: see :class:`~gem_terminal.TerminalEnv`.
        warm: the number of episodes whose containers are started ahead, from the second episode on.

    Raises:
        ArgumentError: if an argument is invalid, or no task is left.
        SweError: if the folder is no finished set.
    """

    closing_action = "<submit/>"

    def __init__(
        self,
        path: str | Path | None = None,
        tasks: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        level: int | None = None,
        engine: str | Engine = "auto",
        max_turns: int = 50,
        command_seconds: float = 30.0,
        episode_seconds: float | None = None,
        output: int = 16 << 10,
        reward: str = "all",
        pass_to_pass: int | None = 50,
        verify_seconds: float = 600.0,
        run_tests: bool = True,
        instructions: bool = True,
        recordings: str | Path | bool | None = None,
        warm: int = 1,
    ) -> None:
        if path is None:
            raise ArgumentError(
                "path must name a folder of tasks, as in gem.make('swe:Folder-v0', path='tasks'); see gem swe make"
            )
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentTypeError(f"path must be a text or a path, got {type(path).__name__} ({path!r:.80})")
        self.reward = choice("reward", reward, ("all", "fraction", "regressions"))
        self.options = VerdictOptions(
            None if pass_to_pass is None else integer("pass_to_pass", pass_to_pass, minimum=0),
            real("verify_seconds", verify_seconds, minimum=1.0),
        )
        if not boolean("run_tests", run_tests):
            self.actions = actions_without_tests()
        self.swe_tasks: tuple[SweTask, ...] = chosen_tasks(load_tasks(Path(path).expanduser()), tasks, kinds, level)
        """The tasks, in the order of :attr:`tasks`."""
        self.skipped = ()
        self._verdict: SweVerdict | None = None
        self._set_up(
            tuple(task.container_task for task in self.swe_tasks),
            engine,
            max_turns=max_turns,
            command_seconds=command_seconds,
            episode_seconds=episode_seconds,
            output=output,
            instructions=instructions,
            recordings=recordings,
            warm=warm,
        )

    actions = SWE_ACTIONS

    @property
    def swe_task(self) -> SweTask:
        """The task of this episode."""
        return self.swe_tasks[self._at.index]

    def _opening(self, task: Task, session: TaskSession) -> str:
        names = [schema["function"]["name"] for schema in self.actions.schemas]
        told = ", ".join(_ARGUMENTS[name] for name in names if name in _ARGUMENTS)
        syntax = _SYNTAX.format(place=REPOSITORY, seconds=self.command_seconds, turns=self.max_turns, tools=told)
        return f"{task.instruction}\n\n{syntax}"

    def _carry_out(self, action: OtherAction, session: TaskSession) -> ActionResult:
        return use_tool(action, session, self.swe_task.described.test_command, self.output)

    def _judged(self, session: TaskSession) -> VerifierResult:
        return session.verify(self._verdict_of)

    def _verdict_of(self, task: Task, container: Container, engine: Engine | None) -> VerifierResult:
        verdict = self._verdict = judge(self.swe_task, container, engine or self.engine, self.options)
        return VerifierResult(
            {"reward": float(verdict.solved)},
            error=verdict.wrong or None,
            log=verdict.log,
            passed=verdict.mended + verdict.kept,
            total=verdict.to_mend + verdict.kept + len(verdict.broken),
            worth="pristine",
        )

    def _earned(self, result: VerifierResult) -> float:
        assert self._verdict is not None
        return self._verdict.reward(self.reward)

    def _verdict_info(self) -> Info:
        verdict = self._verdict
        assert verdict is not None
        said: dict[str, Any] = {
            "diff": verdict.diff,
            "tests_mended": verdict.mended,
            "tests_to_mend": verdict.to_mend,
            "tests_kept": verdict.kept,
            "tests_broken": list(verdict.broken[:100]),
            "tests_failing": list(verdict.failing[:100]),
        }
        if verdict.ignored:
            said["diff_ignored"] = list(verdict.ignored)
        return said
