"""An agent program that plays an episode, and what its end means: :class:`RunningEpisode`."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from gem.errors import EpisodeLimitError, NotSupportedError
from gem.policies import Act
from gem_eval.clients import Completion, ModelError
from gem_gateway.calls import ModelCall
from gem_gateway.harnesses.episode_run import EpisodeRun
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.lineages.recorder import LineageRecorder
from gem_gateway.mcp_env.episode_calls import EpisodeCalls
from gem_gateway.sessions import GatewaySession
from gem_rollout.lineages import LineageTree

__all__ = ["NoticingAnswerer", "RunningEpisode"]

_LAST_ANSWERS = 2
"""What a program may still ask its model after the end of its episode, such as for its last words."""
_ENDED = "agent_ended"
"""The limit of an episode whose program ended before the environment did."""


class RunningEpisode:
    """A program that plays, and what belongs to it."""

    def __init__(
        self,
        run: EpisodeRun,
        calls: EpisodeCalls,
        session: GatewaySession,
        answerer: NoticingAnswerer,
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
        # In a box, a losing program could end itself so. Should a task's container end, the next step finds out.
        if self._run.place.was_killed(program):
            raise HarnessError(f"{name} was killed by signal {-code}{program.last_words()}", "harness_killed")
        if self._answerer.error is not None and not self._answerer.has_refused:
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


class NoticingAnswerer:
    """An answerer that notes how often it has answered, and the error that its last call ended with."""

    def __init__(self, answerer: LineageRecorder) -> None:
        self._answerer = answerer
        self.answers = 0
        self.left: int | None = None
        """How many answers there still are; None for any number."""
        self.error: ModelError | EpisodeLimitError | NotSupportedError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answerer, name)

    @property
    def has_refused(self) -> bool:
        """Whether that error is a refusal of the request alone, of a program that has had answers before.

        Were it a fault of the endpoint, a program that is losing could choose an unknown outcome by a request that no
        server takes. Before the first answer, server and program may not fit.
        """
        is_refusal = isinstance(self.error, NotSupportedError) or (
            isinstance(self.error, ModelError) and self.error.failure_kind == "bad_request"
        )
        return is_refusal and self.answers > 0

    async def answer(self, call: ModelCall) -> Completion:
        if self.left is not None:
            if not self.left:
                raise EpisodeLimitError("episode_over", "the episode is over; end now")
            self.left -= 1
        try:
            completion = await self._answerer.answer(call)
        except (ModelError, EpisodeLimitError, NotSupportedError) as error:
            self.error = error
            raise
        self.answers, self.error = self.answers + 1, None
        return completion

    async def close(self) -> None:
        await self._answerer.close()
