"""The policy that plays with an agent program: :class:`HarnessPolicy`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from gem.core import Env, Info
from gem.errors import EpisodeLimitError, GemError
from gem.policies import Act, Policy
from gem_eval.clients import Completion, ModelClient, ModelError, Sampling
from gem_eval.clients.session import episode_session
from gem_gateway.budgets import CallBudget
from gem_gateway.calls import ModelCall
from gem_gateway.harnesses.agent_task import AgentTask
from gem_gateway.harnesses.box import Box
from gem_gateway.harnesses.boxes import HarnessBox, has_container, obstacle_to_box
from gem_gateway.harnesses.episode_run import EpisodeRun
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.host import HarnessHost
from gem_gateway.harnesses.own_box import OwnBox
from gem_gateway.harnesses.own_folders import OwnFolders
from gem_gateway.harnesses.place import ProgramPlace
from gem_gateway.harnesses.task_box import TaskBox
from gem_gateway.harnesses.task_text import task_text
from gem_gateway.lineages.recorder import LineageRecorder
from gem_gateway.mcp_env.episode_calls import EpisodeCalls, tools_of
from gem_gateway.sessions import GatewaySession
from gem_rollout.lineages import LineageTree
from gem_rollout.lineages.tree import recorded_lineages

__all__ = ["HarnessPolicy"]

_LAST_ANSWERS = 2
"""What a program may still ask its model after the end of its episode, such as for its last words."""
_ENDED = "agent_ended"
"""The limit of an episode whose program ended before the environment did."""


class HarnessPolicy(Policy[Any, Any]):
    """Runs an agent program in each episode, and returns its calls of tools as actions.

    The program starts with the first turn. Each of its calls that reaches the episode's MCP server is an action; the
    observation that follows is the result of the call. When the program ends by itself before the environment does,
    its last action is the environment's ``closing_action``, if it has that attribute, or else its final answer, if the
    environment takes one action or the program has made no call. In all other cases the episode ends at the limit
    ``agent_ended``, and is scored. When the environment ends first, the result of the last call says so, the program
    has a moment to end, and is killed with everything that it has started.

    All calls of its model are in the record of the episode, as a tree of lineages
    (:func:`gem_rollout.lineages.tree.lineages_of`).

    Args:
        harness: how the program is run.
        install: the folder with the program.
        client: answers its calls of the model; not closed by the policy.
        sampling: what it says overrides what the program asks for; each episode derives its session from it.
        env: the environment that is played.
        host: shared with other policies of the same event loop.
        budget: of the calls of one episode.
        seconds: after which an episode ends at the limit ``seconds``.
        exact_tokens: ask the model with token ids, as :class:`LineageRecorder` does.
        tokenizer: for it.
        box: where the program runs; see :func:`~gem_gateway.harnesses.policies.harness_policy`.
    """

    def __init__(
        self,
        harness: Harness,
        install: Path,
        client: ModelClient,
        sampling: Sampling | None,
        env: Env[Any, Any],
        host: HarnessHost,
        *,
        budget: CallBudget | None = None,
        seconds: float,
        exact_tokens: bool = False,
        tokenizer: Any = None,
        box: HarnessBox = "auto",
    ) -> None:
        self._harness = harness
        self._install = install
        self._client = client
        self._sampling = sampling or Sampling()
        self._session: str | None = None
        self._env = env
        self._host = host
        self._budget = budget
        self._seconds = seconds
        self._exact_tokens, self._tokenizer = exact_tokens, tokenizer
        self._box = box
        self._obstacle = ""
        self._uses_host = False
        self._episode: _RunningEpisode | None = None

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Name the session of the coming episode, which every call to the model's server carries."""
        self._session = episode_session(self._sampling.session, self._env, seed, repetition)

    async def reset(self, observation: Any, info: Info) -> None:
        """Begin a new episode; what is left of an earlier one ends."""
        await self._end()

    async def act(self, observation: Any, info: Info) -> Act:
        """Return the program's next call as an action.

        Raises:
            EpisodeLimitError: if it has ended without another action, or used up its budget or time.
            HarnessError: if it cannot be started, or was killed from outside.
            ModelError: if it ended because its model gave no answer.
        """
        if self._episode is None:
            self._episode = await self._begin(observation)
        else:
            self._episode.calls.observe(observation)
        return await self._episode.next_act()

    async def end_episode(self, observation: Any, info: Info) -> Mapping[str, Any]:
        """Tell the program that the episode is over, and end it; return the calls of its model."""
        episode = self._episode
        if episode is None:
            return {}
        episode.end(observation)
        await self._end(grace=not episode.failed)
        return recorded_lineages(episode.tree)

    async def close(self) -> None:
        """End the program, and the use of what the policies share."""
        await self._end()
        if self._uses_host:
            self._uses_host = False
            await self._host.leave()

    async def _begin(self, observation: Any) -> _RunningEpisode:
        if not self._uses_host:
            await self._host.enter()
            self._uses_host = True
        async with AsyncExitStack() as stack:
            calls = EpisodeCalls(tools_of(self._env))
            recorder = LineageRecorder(
                self._client,
                exact_tokens=self._exact_tokens,
                tokenizer=self._tokenizer,
                turns=lambda: calls.taken,
            )
            answerer = _Noticing(recorder)
            place = await self._place(stack)
            doors = place.doors
            to_gateway, to_episode = map(_origin, doors) if doors else (None, None)
            session = self._host.gateway.open(
                answerer,
                budget=self._budget,
                sampling=replace(self._sampling, session=self._session),
                model=self._client.model,
                origin=to_gateway,
            )
            stack.push_async_callback(session.close)
            served = stack.enter_context(self._host.episodes.serve(calls, to_episode))
            if doors:
                await stack.enter_async_context(self._host.gateway.listening(doors[0], session))
                await stack.enter_async_context(self._host.episodes.listening(doors[1], served))
            spec = self._env.spec
            single = spec is not None and spec.turns == "single"
            text = task_text(
                observation,
                calls.tools,
                how=self._harness.tools,
                episode=place.paths.episode,
                single=single,
                inside=place.is_inside,
            )
            dialect = "chat" if self._harness.dialect == "messages" else self._harness.dialect
            task = AgentTask(
                task=text,
                task_file=Path(place.paths.task_file),
                model=session.model,
                base_url=session.base_url(dialect),
                anthropic_base_url=session.base_url("messages"),
                api_key=session.api_key,
                mcp_url=served.url,
                mcp_key=served.key,
                answer_file=Path(place.paths.answer_file),
            )
            run = EpisodeRun(self._harness, place, task)
            stack.push_async_callback(run.stop)
            await run.start()
            closing = getattr(self._env.unwrapped, "closing_action", None)
            deadline = asyncio.get_running_loop().time() + self._seconds
            return _RunningEpisode(
                run, calls, session, answerer, recorder.tree, stack.pop_all(), closing, single, deadline, self._obstacle
            )
        raise AssertionError  # the stack suppresses nothing

    async def _place(self, stack: AsyncExitStack) -> ProgramPlace:
        """Return a place for the program, made ready; the stack removes it."""
        if self._box != "never":
            obstacle = await asyncio.to_thread(obstacle_to_box, self._harness, self._env, asked=self._box == "always")
            if obstacle is None:
                try:
                    return await _ready(await self._boxed(), stack)
                except (GemError, OSError) as error:
                    if self._box == "always":
                        raise
                    obstacle = str(error)
            if self._box == "always":
                raise HarnessError(f"{self._harness.name} cannot run in a box: {obstacle}")
            self._obstacle = obstacle
        return await _ready(OwnFolders(self._harness, self._install), stack)

    async def _boxed(self) -> Box:
        if not has_container(self._env):
            return OwnBox(self._harness, self._install)
        container = await asyncio.to_thread(self._env.unwrapped.agent_box)  # type: ignore[attr-defined]
        return TaskBox(container, self._harness, self._install)

    async def _end(self, *, grace: bool = False) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            # Also when the engine is being closed: nothing may be left behind.
            await asyncio.shield(episode.close(grace=grace))


async def _ready(place: ProgramPlace, stack: AsyncExitStack) -> ProgramPlace:
    """Make a place ready; the stack removes it, or it is removed at once if that fails."""
    async with AsyncExitStack() as removing:
        removing.push_async_callback(place.remove)
        await place.prepare()
        stack.push_async_callback(removing.pop_all().aclose)
    return place


def _origin(door: socket.socket) -> str:
    host, port = door.getsockname()
    return f"http://{host}:{port}"


class _RunningEpisode:
    """A program that plays, and what belongs to it."""

    def __init__(
        self,
        run: EpisodeRun,
        calls: EpisodeCalls,
        session: GatewaySession,
        answerer: _Noticing,
        tree: LineageTree,
        stack: AsyncExitStack,
        closing: Any,
        single: bool,
        deadline: float,
        obstacle: str,
    ) -> None:
        self.calls = calls
        self.tree = tree
        self.failed = False
        """Whether the episode has ended otherwise than by the environment."""
        self._run = run
        self._session = session
        self._answerer = answerer
        self._stack = stack
        self._closing = closing
        self._single = single
        self._deadline = deadline
        self._has_answered = False
        self._counted = (0, 0, 0)
        self._facts = {"harness": run.harness.name, "harness_box": run.place.name}
        if obstacle:
            self._facts["harness_box_obstacle"] = obstacle

    def end(self, observation: Any) -> None:
        """Tell the program that the episode is over; its model has few answers left for it."""
        self._answerer.left = _LAST_ANSWERS
        self.calls.end(observation)

    async def next_act(self) -> Act:
        try:
            return self._act(await self._next_action())
        except BaseException:
            self.failed = True
            raise

    async def close(self, *, grace: bool) -> None:
        try:
            if grace:
                await self._run.finish()
        finally:
            await self._stack.aclose()

    async def _next_action(self) -> Any:
        loop = asyncio.get_running_loop()
        call = loop.create_task(self.calls.next_action())
        end = loop.create_task(self._run.program.wait())
        try:
            left = max(0.0, self._deadline - loop.time())
            allowed = self._run.place.seconds_left
            is_tasks = allowed is not None and allowed < left
            await asyncio.wait({call, end}, timeout=allowed if is_tasks else left, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
            if end.done():
                return self._last_action()
            if is_tasks and self._closing is not None:
                await self._run.stop()  # the environment decides what the end of its time means
                self._has_answered = True
                return self._closing
            raise EpisodeLimitError("seconds", f"{self._run.harness.name} has used up its time")
        finally:
            for task in (call, end):
                task.cancel()
            await asyncio.wait({call, end})

    def _last_action(self) -> Any:
        """Return the last action of a program that has ended; raise what its end means otherwise."""
        program, name, session = self._run.program, self._run.harness.name, self._session
        code = program.returncode or 0
        if self._has_answered:
            raise EpisodeLimitError(_ENDED, f"{name} has ended, and the episode goes on")
        if session.exceeded is not None:
            raise EpisodeLimitError(session.exceeded)
        if code < 0:
            raise HarnessError(f"{name} was killed by signal {-code}{program.last_words()}", "harness_killed")
        if self._answerer.error is not None:
            raise self._answerer.error
        if code and not (self._answerer.answers or self.calls.taken):
            raise HarnessError(f"{name} ended with exit code {code} before its first call{program.last_words()}")
        self._has_answered = True
        if self._closing is not None:
            return self._closing
        answer = self._run.answer()
        if answer and (self._single or not self.calls.taken):
            return answer
        raise EpisodeLimitError(_ENDED, f"{name} ended with exit code {code} before the environment did")

    def _act(self, action: Any) -> Act:
        counts = self._session.calls
        now = (counts.answered, counts.prompt_tokens, counts.completion_tokens)
        calls, prompt, completion = (after - before for after, before in zip(now, self._counted, strict=True))
        self._counted = now
        return Act(
            action,
            usage={"prompt_tokens": prompt, "completion_tokens": completion},
            model=self._session.model,
            metadata={**self._facts, "model_calls": calls},
        )


class _Noticing:
    """An answerer that notes how often it has answered, and the error that its last call ended with."""

    def __init__(self, answerer: LineageRecorder) -> None:
        self._answerer = answerer
        self.answers = 0
        self.left: int | None = None
        """How many answers there still are; None for any number."""
        self.error: ModelError | EpisodeLimitError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answerer, name)

    async def answer(self, call: ModelCall) -> Completion:
        if self.left is not None:
            if not self.left:
                raise EpisodeLimitError("episode_over", "the episode is over; end now")
            self.left -= 1
        try:
            completion = await self._answerer.answer(call)
        except (ModelError, EpisodeLimitError) as error:
            self.error = error
            raise
        self.answers, self.error = self.answers + 1, None
        return completion

    async def close(self) -> None:
        await self._answerer.close()
