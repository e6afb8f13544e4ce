"""The environment of terminal tasks: :class:`TerminalEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from gem.arguments import boolean, choice, integer, real, string
from gem.core import Action, Env, Info
from gem.errors import ArgumentError, ResetNeededError, StateError
from gem.text import TERMINAL_STATE
from gem_terminal.actions import (
    MCP_SCHEMA,
    TERMINAL_ACTIONS,
    ActionKinds,
    Finish,
    MalformedAction,
    OtherAction,
    RequestedAction,
    dump_action,
    load_action,
    parse_actions,
)
from gem_terminal.engines import Engine
from gem_terminal.episodes.acting import carry_out, repeat
from gem_terminal.episodes.episode_sessions import EpisodeSessions
from gem_terminal.episodes.episode_snapshots import EpisodeSnapshot, keep_snapshot, kept_snapshot
from gem_terminal.episodes.episode_state import OVER, WORKING, EpisodeState
from gem_terminal.episodes.multi_step import StepResult, result_of_steps
from gem_terminal.episodes.session_pools import SessionSpec
from gem_terminal.episodes.task_session import ActionResult, TaskSession
from gem_terminal.episodes.turn_results import observation_of, tool_results_of, verdict_info
from gem_terminal.errors import EngineError
from gem_terminal.network.mcp_servers import mcp_client_is_installed
from gem_terminal.recording import recordings_folder
from gem_terminal.task import Task
from gem_terminal.task_options import TaskOptions
from gem_terminal.task_set import chosen_index, chosen_tasks
from gem_terminal.task_text import instruction_text, opening_text
from gem_terminal.verdicts.verification import VerifierResult

__all__ = ["TerminalEnv"]

_HARMLESS = ("pwd", "ls", "ls -a", "true", "id -un", "echo $HOME")


class TerminalEnv(Env[str, Action]):
    """A task in a container: the agent works with a shell, a terminal and files until the task is verified.

    An observation is the output of the action, with the exit code of a command. The last turn earns the reward of the
    task's tests, which run after every process of the agent was killed. All other turns earn 0.0. An episode that runs
    out of turns or time is verified and truncated; running out of turns also terminates it if ``instructions``
    announced the limit. A malformed action costs a turn, and the observation lists the valid actions.

    A task with several steps is one episode: when the agent has finished a step, or its time is over, the tests of the
    step run, and the next observation has the next instruction. See :mod:`~gem_terminal.episodes.multi_step` for its
    reward.

    Rewards: ``"task"`` is the number that the tests write, clipped to 0.0 to 1.0 (Harbor), or 1.0 if all tests pass
    (Terminal-Bench 1). ``"fraction"`` is the share of tests that passed if the task reports single tests, and the
    number of the task otherwise. ``"binary"`` is 1.0 if the number of the task is 1.0, and 0.0 otherwise.

    **Info.** Always ``task`` (name), ``turn``, ``action_status``. After a command ``exit_code``, ``timed_out``, and
    ``notices`` if it reached limits. After native calls ``tool_results``. At the end ``success``, ``rewards``,
    ``tests_passed`` and ``tests_total`` if the task reports them, ``verifier_log``, and ``verifier_error`` if the tests
    gave no reward; in a task with several steps always ``step`` (name), and ``steps``, the rewards so far, after each;
    ``verdict``, which says how far the reward can be trusted (see
    :func:`~gem_terminal.verdicts.verdict_worth.verdict_worth`), and ``verdict_doubts``, if there are reasons to doubt
    it (:data:`~gem_terminal.verdicts.verifier_result.DOUBTS`); ``verifier_hint`` if the reward is 0.0 and the tests
    seem to miss a network, a server, or files that the pristine verifier left behind.

    If the container or the engine dies, the episode is truncated with ``info["error"]``; the next reset starts a new
    container.

    Args:
        task: the name of a bundled task.
        path: a folder that is a task or contains tasks, in place of ``task``; if it has a ``dataset.toml`` of Harbor,
            the tasks that this file lists.
        tasks: the names of the folder's tasks to use; None for all.
        filter: a condition on the folder's tasks, such as ``"difficulty=easy and tag:git"``; see
            :func:`~gem_terminal.task_filter.matching`.
        split: a subfolder of the folder, or the value of ``split`` in the metadata of the tasks.
        skip_unsupported: whether to leave out tasks that are malformed or need an unsupported feature, with one
            warning that counts the reasons; :attr:`skipped` names them all. False raises the error of the first.
        strict: the rules for training on tasks of one's own: a Harbor task has a network only if it asks for one, and
            the agent's processes are killed before the tests. By default the rules of the format hold; see
            :class:`~gem_terminal.task_options.TaskOptions`. The bundled tasks are strict by themselves.
        network: gives every task a network, or none; None for the task's own. ``"host"`` gives it the network of this
            machine, with its services on 127.0.0.1 and with other episodes.
        limits: ``cpus``, ``memory``, ``processes`` and ``disk`` in place of the tasks' own, such as
            ``{"memory": "4G", "disk": "10G"}``.
        engine: ``"docker"``, ``"namespace"``, ``"auto"`` for the first of docker and namespace that
            works, another name that :func:`~gem_terminal.engines.engine_by_name` knows, or an
            :class:`~gem_terminal.engines.Engine`.
        max_turns: the turns of an episode.
        command_seconds: the default time limit of a command, in seconds. A command may ask for the time left of the
            episode, or for ten minutes if the episode has no limit.
        episode_seconds: the time limit of an episode, in seconds; None for the task's own.
        output: the bytes of a command's output in an observation; the middle of a longer output is cut out.
        reward: ``"task"``, ``"fraction"`` or ``"binary"``.
        verifier: ``"task"`` for the verifier of the task's format, or ``"pristine"``, whose verdict an agent that works
            as root cannot forge: the tests run in a fresh container of the image, with the agent's changes under
            declared paths laid over it; see :mod:`gem_terminal.verdicts.pristine`. None for ``"task"``, or with
            ``strict`` for ``"pristine"``.
        keep_processes: whether the agent's processes continue during the tests; None for the rule of the task. A task
            that verifies a server needs this; :func:`~gem_terminal.verdicts.verification.verify` explains the cost.
        instructions: whether the first observation explains text actions and the turn limit. Turn it off if the model
            receives ``tool_schemas`` through its chat API.
        recordings: a folder, made if it is missing, into which each episode writes a recording that asciinema plays;
            ``info["recording"]`` of the reset and of the last turn is its path. True puts the recording itself into
            the last info, as ``asciicast``, so that it is a part of the trajectory and ``gem view`` plays it. None or
            False for no recordings.
        warm: the number of episodes whose containers are started ahead, from the second episode on. With several
            tasks this works only if the last reset had neither seed nor options, so that the next tasks are known.
    """

    closing_action = "<finish/>"
    """What has the task verified, for an agent that ends without saying so."""
    actions: ActionKinds = TERMINAL_ACTIONS
    """The actions that an agent may ask for."""

    def __init__(
        self,
        task: str | None = None,
        path: str | Path | None = None,
        tasks: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002  # the word that users look for
        split: str | None = None,
        skip_unsupported: bool = True,
        strict: bool = False,
        network: bool | str | None = None,
        limits: Mapping[str, Any] | None = None,
        engine: str | Engine = "auto",
        max_turns: int = 50,
        command_seconds: float = 30.0,
        episode_seconds: float | None = None,
        output: int = 16 << 10,
        reward: str = "task",
        verifier: str | None = None,
        keep_processes: bool | None = None,
        instructions: bool = True,
        recordings: str | Path | bool | None = None,
        warm: int = 1,
    ) -> None:
        options = TaskOptions.checked(strict, network, limits, keep_processes, verifier)
        found = chosen_tasks(task, path, tasks, filter, split, boolean("skip_unsupported", skip_unsupported))
        self.skipped = found.skipped
        """The tasks of the folder that cannot be used, each with the reason as ``error``."""
        self.reward = choice("reward", reward, ("task", "fraction", "binary"))
        self._set_up(
            tuple(map(options.applied, found.tasks)),
            engine,
            max_turns=max_turns,
            command_seconds=command_seconds,
            episode_seconds=episode_seconds,
            output=output,
            instructions=instructions,
            recordings=recordings,
            warm=warm,
        )

    def _set_up(
        self,
        tasks: tuple[Task, ...],
        engine: str | Engine,
        *,
        max_turns: int,
        command_seconds: float,
        episode_seconds: float | None,
        output: int,
        instructions: bool,
        recordings: str | Path | bool | None,
        warm: int,
    ) -> None:
        """Set the tasks, and check the arguments that do not depend on where they come from."""
        self.tasks = tasks
        self.max_turns = integer("max_turns", max_turns, minimum=1)
        self.command_seconds = real("command_seconds", command_seconds, minimum=0.1)
        self.episode_seconds = (
            None if episode_seconds is None else real("episode_seconds", episode_seconds, minimum=0.1)
        )
        self.output = integer("output", output, minimum=100)
        self.instructions = boolean("instructions", instructions)
        self._has_mcp_tools = any(task.mcp_servers for task in self.tasks) and mcp_client_is_installed()
        self.recordings = recordings if isinstance(recordings, bool) else recordings and recordings_folder(recordings)
        self.warm = integer("warm", warm, minimum=0, maximum=64)
        self._sessions = EpisodeSessions(engine, self.warm, self.recordings)
        self._at = EpisodeState()
        self._draws_tasks = False
        self._closed = False

    @property
    def task(self) -> Task:
        """The task of this episode, as it is in the present step."""
        return self.tasks[self._at.index].at_step(self._at.step)

    @property
    def _session(self) -> TaskSession | None:
        return self._sessions.session

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The actions in the format of the ``tools`` argument of chat APIs."""
        further = [MCP_SCHEMA] if self._has_mcp_tools else []
        return [dict(schema) for schema in (*self.actions.schemas, *further)]

    @property
    def engine(self) -> Engine:
        """The engine, chosen on first use."""
        return self._sessions.engine

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Begin a task in a fresh container.

        Args:
            seed: determines which of several tasks begins.
            options: ``{"index": i}`` or ``{"task": name}`` chooses a task.

        Raises:
            ArgumentError: if the task does not exist, or an option is unknown.
            EngineError: if no engine works, or the container does not start.
        """
        super().reset(seed=seed)
        index = self.rng.randrange(len(self.tasks))
        if options:
            index = chosen_index(self.tasks, options)
        self._sessions.release()
        self._at, self._closed = EpisodeState(index=index), False
        self._draws_tasks = seed is None and not options
        session, task = self._arrive(), self.task
        self._at.phase = WORKING
        opening = self._opening(task, session) if self.instructions else instruction_text(task, session)
        return opening, {**self._at.info(self.task), **self._sessions.recording_info(ended=False)}

    def step(self, action: Action) -> tuple[str, float, bool, bool, Info]:
        """Carry out an action; the class describes the results."""
        self._at.check_working()
        self._at.turn += 1
        info = self._at.info(self.task)
        try:
            return self._play(parse_actions(action, self.actions), info)
        except (EngineError, OSError) as error:  # OSError: this process has no descriptors left
            self._sessions.release()
            self._at.phase = OVER
            return f"The container has failed: {error}", 0.0, False, True, {**info, "error": str(error)}

    def sample_random_action(self) -> Action:
        """Return a harmless command."""
        return f"<bash>{self.action_rng.choice(_HARMLESS)}</bash>"

    def get_state(self) -> dict[str, Any]:
        """Return the state of the episode: the task, the actions so far, and a name for a snapshot in this process.

        A restored environment continues from the snapshot, or else repeats the actions in a fresh container: if the
        agent has processes other than its shell, which no snapshot holds; on engines whose snapshots are slow; in
        another process; and after 256 later states or a gibibyte of their files.
        """
        return {**self._state(), "snapshot": self._snapshot_name()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of ``get_state``. The next step first restores its snapshot, or repeats its actions."""
        try:
            at = EpisodeState.loaded(state, self.tasks, self.max_turns, self.actions)
            name = None if state["snapshot"] is None else string("snapshot", state["snapshot"])
            self.set_generator_state(state)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"not a state of TerminalEnv: {error}") from error
        self._sessions.release()
        self._at, self._closed = at, False
        kept = kept_snapshot(name)
        if kept is not None and kept.task.folder == self.task.folder:
            self._sessions.snapshot, self._sessions.kept = kept, (at.turn, name)

    def snapshot(self) -> EpisodeSnapshot:
        """Return a snapshot of this episode: its files and its shell, without other processes of the agent.

        It takes milliseconds on the namespace engine, and some tenths of a second on Docker. It stays as it is while
        the episode continues, and takes room until it is closed or forgotten. A
        :class:`~gem_terminal.SnapshotStore` keeps it beyond this process.

        Raises:
            ResetNeededError: if no episode has begun.
            EpisodeFinishedError: if the episode is over.
            EngineError: if the engine takes no snapshots, there is no room, or the container died.
        """
        self._at.check_working()
        session = self._session or self._continued()
        return EpisodeSnapshot(self.tasks[self._at.index], self._state(), session.snapshot())

    def restore(self, snapshot: EpisodeSnapshot) -> None:
        """Continue from a snapshot of an environment of this process, or of a store, in a container of its own.

        The time limit of the episode begins anew.

        Raises:
            ArgumentError: if this environment does not have the task of the snapshot, or the snapshot is closed.
            EngineError: if the snapshot is of another engine, or its container does not start.
        """
        if not snapshot.session.files.is_open:
            raise ArgumentError("the snapshot is closed")
        if snapshot.task not in self.tasks:
            raise ArgumentError(f"the snapshot is of the task {snapshot.task.name!r}, which this environment lacks")
        index = self.tasks.index(snapshot.task)
        self.set_state({**snapshot.state, "index": index, "snapshot": None})
        self._sessions.snapshot = snapshot  # until there is a session, or the next step tries again
        self._arrive(snapshot)
        self._sessions.snapshot = None

    def __getstate__(self) -> dict[str, Any]:
        """Exclude the container: a copy repeats the actions in a container of its own."""
        return {**self.__dict__, "_closed": False, "_sessions": copy(self._sessions), "_at": copy(self._at)}

    def close(self) -> None:
        """Remove the container. A step that another thread begins at the same time starts no other one."""
        self._closed = True  # first, because a step without a session looks whether it may start one
        self._sessions.leave()
        super().close()

    def _play(self, actions: Sequence[RequestedAction], info: Info) -> tuple[str, float, bool, bool, Info]:
        session = self._session or self._continued()
        info["action_status"] = "legal"
        action_results: list[ActionResult] = []
        finished = False
        for asked in actions:
            if finished or session.seconds_left == 0.0:
                action_results.append(ActionResult("Not carried out: the task is over.", ok=False))
            elif isinstance(asked.action, Finish):
                finished = True
                action_results.append(ActionResult(""))
            elif isinstance(asked.action, MalformedAction):
                info["action_status"] = "malformed"
                action_results.append(ActionResult(asked.action.why, ok=False))
            else:
                action_results.append(carry_out(asked.action, session, self._carry_out))
                self._at.actions.append(dump_action(asked.action, self.actions))
            info.update(action_results[-1].info)
        if results := tool_results_of(actions, action_results):
            info["tool_results"] = results
        out_of_time = session.seconds_left == 0.0
        out_of_turns = self._at.turn >= self.max_turns
        if not (finished or out_of_time or out_of_turns):
            return observation_of(actions, action_results), 0.0, False, False, info
        ends = out_of_turns or (out_of_time and self.episode_seconds is not None)
        result = self._verified(session, ends)
        if self.task.steps:
            info["steps"] = [done.dumped() for done in self._at.step_results]
        if result is None:
            told = observation_of(actions, action_results)
            number, count = self._at.step + 1, len(self.task.steps)
            opening = f"This step is over. Step {number} of {count}:\n\n{instruction_text(self.task, session)}"
            return f"{told}\n\n{opening}".strip(), 0.0, False, False, {**info, **self._at.info(self.task)}
        recorded = self._sessions.recording_info(ended=True)
        self._sessions.release()
        self._at.phase = OVER
        # The turn limit terminates the episode only if it was announced; the time limit is never announced.
        terminated = finished or (self.instructions and not out_of_time)
        return (
            TERMINAL_STATE,
            self._earned(result),
            terminated,
            not finished,
            {**info, **recorded, **verdict_info(result), **self._verdict_info()},
        )

    def _opening(self, task: Task, session: TaskSession) -> str:
        """Return the first observation, with the actions and the turn limit explained."""
        return opening_text(task, session, self.command_seconds, self.max_turns)

    def _carry_out(self, action: OtherAction, session: TaskSession) -> ActionResult:
        """Carry out an action that is none of a terminal; subclasses that have such actions do."""
        raise NotImplementedError(type(action).__name__)

    def _judged(self, session: TaskSession) -> VerifierResult:
        """Return the result of the task, or of its present step."""
        return session.verify()

    def _earned(self, result: VerifierResult) -> float:
        """Return the reward of the episode."""
        return result.earned(self.reward)

    def _verdict_info(self) -> Info:
        """Return what the info of the last turn says beside the result."""
        return {}

    def _verified(self, session: TaskSession, ends: bool) -> VerifierResult | None:
        """Run the tests; return the result of the task, or None if the next step has begun.

        Args:
            session: the session.
            ends: whether the episode is over in any case.
        """
        result, task = self._judged(session), self.task
        if not task.steps:
            return result
        done, results = task.steps[self._at.step], self._at.step_results
        results.append(StepResult.of(done, result))
        left = len(task.steps) - len(results) if results[-1].reaches(done.min_reward) else 0
        if left and not ends:
            self._at.actions.append(dump_action(Finish()))
            problem = session.next_step(restarts_clock=self.episode_seconds is None)
            self._at.step, left = session.step, 0
            if problem is None:
                return None
            result = VerifierResult({}, error=problem)
            results.append(StepResult.of(task.steps[self._at.step], result))
        return result_of_steps(results, task.steps_reward, result, missing=left)

    def _continued(self) -> TaskSession:
        """Return a session after ``set_state``: from the snapshot, or with the actions repeated."""
        if self._closed:
            raise ResetNeededError("the environment was closed during the task; call reset()")
        snapshot, self._sessions.snapshot = self._sessions.snapshot, None
        if snapshot is not None:
            with suppress(EngineError):  # its files are gone
                return self._arrive(snapshot)
        session = self._arrive()
        actions = [load_action(record, self.actions) for record in self._at.actions]
        repeat(actions, session, restarts_clock=self.episode_seconds is None, other=self._carry_out)
        return session

    def _state(self) -> dict[str, Any]:
        return {**self._at.dumped(), **self.generator_state()}

    def _snapshot_name(self) -> str | None:
        """Return the name of a snapshot of this turn for a state, or None if the actions must be repeated."""
        if self._sessions.kept is not None and self._sessions.kept[0] == self._at.turn:
            return self._sessions.kept[1]
        session, name = self._session, None
        if self._at.phase != WORKING or session is None:
            return None
        with suppress(EngineError, OSError):  # the next step has the same error
            if session.has_cheap_snapshots and not session.processes():
                taken = EpisodeSnapshot(self.tasks[self._at.index], self._state(), session.snapshot())
                name = keep_snapshot(taken)
        self._sessions.kept = (self._at.turn, name)
        return name

    def _arrive(self, snapshot: EpisodeSnapshot | None = None) -> TaskSession:
        spec = self._session_spec(self._at.index)
        if snapshot is not None:
            spec = replace(spec, snapshot=snapshot.session, seconds=self._seconds(self.task))
        rng = self.rng if self._draws_tasks else None
        return self._sessions.take(spec, self._session_spec, len(self.tasks), rng)

    def _session_spec(self, index: int) -> SessionSpec:
        task = self.tasks[index]
        return SessionSpec(task, self.output, self.command_seconds, self._seconds(task))

    def _seconds(self, task: Task) -> float | None:
        return task.seconds if self.episode_seconds is None else self.episode_seconds
