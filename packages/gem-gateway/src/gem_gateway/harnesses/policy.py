"""The policy that plays with an agent program: :class:`HarnessPolicy`."""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from gem.core import Env, Info
from gem.errors import GemError
from gem.policies import Act, Policy
from gem_eval.clients import ModelClient, Sampling
from gem_eval.clients.session import episode_session
from gem_gateway.budgets import CallBudget
from gem_gateway.dialects.base import CallSettings
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
from gem_gateway.harnesses.running_episode import NoticingAnswerer, RunningEpisode
from gem_gateway.harnesses.task_box import TaskBox
from gem_gateway.harnesses.task_text import task_text
from gem_gateway.lineages.journal import CallJournal
from gem_gateway.lineages.recorder import LineageRecorder
from gem_gateway.mcp_env.episode_calls import EpisodeCalls, tools_of
from gem_rollout.chat_templates.rendered_text import refuse_pictures
from gem_rollout.lineages.tree import recorded_lineages

__all__ = ["HarnessPolicy"]


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
        journals: a folder for a journal of each episode's calls; see there.
        settings: what the program may ask of its model's server.
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
        journals: Path | None = None,
        settings: CallSettings | None = None,
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
        if exact_tokens:
            refuse_pictures(env.spec)
        self._exact_tokens, self._tokenizer = exact_tokens, tokenizer
        self._box = box
        self._journals = journals
        self._settings = settings
        self._episode_name = "episode"
        self._obstacle = ""
        self._uses_host = False
        self._episode: RunningEpisode | None = None

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Name the session of the coming episode, which every call to the model's server carries."""
        self._session = episode_session(self._sampling.session, self._env, seed, repetition)
        spec = self._env.spec
        self._episode_name = re.sub(r"[^A-Za-z0-9.-]", "_", f"{spec.id if spec else 'env'}-{seed}-{repetition}")

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

    async def _begin(self, observation: Any) -> RunningEpisode:
        if not self._uses_host:
            await self._host.enter()
            self._uses_host = True
        async with AsyncExitStack() as stack:
            calls = EpisodeCalls(tools_of(self._env))
            recorder = LineageRecorder(
                self._client,
                exact_tokens=self._exact_tokens,
                tokenizer=self._tokenizer,
                journal=self._journal(),
                turns=lambda: calls.taken,
            )
            stack.push_async_callback(recorder.close)
            answerer = NoticingAnswerer(recorder)
            place = await self._place(stack)
            doors = place.doors
            to_gateway, to_episode = map(_origin, doors) if doors else (None, None)
            session = self._host.gateway.open(
                answerer,
                budget=self._budget,
                sampling=replace(self._sampling, session=self._session),
                model=self._client.model,
                origin=to_gateway,
                settings=self._settings,
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
            task = AgentTask(
                task=text,
                task_file=Path(place.paths.task_file),
                model=session.model,
                base_url=session.base_url("chat"),
                anthropic_base_url=session.base_url("messages"),
                gemini_base_url=session.base_url("gemini"),
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
            return RunningEpisode(
                run, calls, session, answerer, recorder.tree, stack.pop_all(), closing, single, deadline, self._obstacle
            )
        raise AssertionError  # the stack suppresses nothing

    def _journal(self) -> CallJournal | None:
        if self._journals is None:
            return None
        # An episode that is repeated has another one.
        return CallJournal(self._journals / f"{self._episode_name}-{secrets.token_hex(4)}.jsonl")

    async def _place(self, stack: AsyncExitStack) -> ProgramPlace:
        """Return a place for the program, made ready; the stack removes it."""
        self._obstacle = ""
        if self._box != "never":
            asked = self._box == "always"
            obstacle = await asyncio.to_thread(obstacle_to_box, self._harness, self._env, asked=asked)
            cause: Exception | None = None
            if obstacle is None:
                try:
                    return await _ready(await self._boxed(), stack)
                except (GemError, OSError) as error:
                    obstacle, cause = str(error), error
            if asked:
                raise HarnessError(f"{self._harness.name} cannot run in a box: {obstacle}") from cause
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
