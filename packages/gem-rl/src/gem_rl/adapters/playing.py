"""Episodes through the rollout engine, in the order of a trainer's batch: :class:`BatchPlayer`."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gem.core import Env
from gem.wrappers import WrapperLike
from gem_rl.adapters.lockstep import GenerateBatch, Lockstep
from gem_rl.adapters.token_policy import Generate, TokenPolicy
from gem_rl.turn_batch import is_gradable
from gem_rollout import EpisodeLimits, EpisodeRequest, RolloutEngine
from gem_rollout.chat_templates.rendered_text import refuse_pictures
from gem_rollout.chat_templates.sampled_prompt import ChatCodec, HistoryTokens
from gem_rollout.trajectory import Trajectory

__all__ = ["BatchPlayer", "episode_returns"]


@dataclass(frozen=True)
class BatchPlayer:
    """Plays a trainer's batch of episodes and returns their records in its order.

    A request that comes again is the next repetition of its group, as trainers repeat the rows of their batch. An
    episode that fails is in its place, with ``failure`` set. What keeps an environment from being made is raised, and
    so is that it shows pictures, which token ids do not carry.
    """

    tokenizer: ChatCodec
    """Of the model, with a chat template."""
    wrappers: WrapperLike | Sequence[WrapperLike] = "messages"
    """As in ``gem.make``."""
    history: HistoryTokens = "sampled"
    """As in :class:`gem_rollout.chat_templates.sampled_prompt.SampledPrompt`, like the next."""
    template_arguments: Mapping[str, Any] | None = None
    max_context: int | None = None
    """Tokens that prompt and answer may have."""
    parse: Callable[[str], Any] | None = None
    """Turns the text of an answer into the action."""
    limits: EpisodeLimits | None = None
    """What an episode may cost."""
    concurrency: int | None = None
    """Episodes at a time; the whole batch unless given."""
    mode: str = "thread"
    """As in ``gem.make_vec``."""

    async def play_async(self, requests: Iterable[EpisodeRequest], generate: Generate) -> list[Trajectory]:
        """Play episodes with a model that is asked for each episode alone, such as one behind a server.

        Args:
            requests: the episodes; see :func:`gem_rl.adapters.requests_of`.
            generate: samples an answer to a prompt.
        """
        return await self._play(_repeated(requests), lambda running: generate)

    def play(self, requests: Iterable[EpisodeRequest], generate: GenerateBatch) -> list[Trajectory]:
        """Play episodes with a model that answers many prompts in one call, for trainers without an event loop.

        The model is called in this thread, unless an event loop runs in it, as in Jupyter.
        """
        playing = self._play(_repeated(requests), lambda running: Lockstep(generate, running))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(playing)
        outcome: list[list[Trajectory] | BaseException] = []

        def work() -> None:
            try:
                outcome.append(asyncio.run(playing))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=work, name="gem-play")
        thread.start()
        thread.join()
        (found,) = outcome
        if isinstance(found, BaseException):
            raise found
        return found

    async def _play(
        self, plan: list[EpisodeRequest], generate_of: Callable[[Callable[[], int]], Generate]
    ) -> list[Trajectory]:
        if not plan:
            return []

        def policy(env: Env[Any, Any]) -> TokenPolicy:
            refuse_pictures(env.spec)
            return TokenPolicy(
                self.tokenizer,
                generate,
                history=self.history,
                template_arguments=self.template_arguments,
                max_context=self.max_context,
                parse=self.parse,
                env=env.spec.id if env.spec else "",
            )

        engine = RolloutEngine(
            plan,
            policy,
            concurrency=self.concurrency or len(plan),
            wrappers=self.wrappers,
            mode=self.mode,
            limits=self.limits,
            strict=True,
        )
        generate = generate_of(lambda: engine.counts.running)
        async with engine:
            found = {trajectory.key: trajectory async for trajectory in engine}
        return [found[request.key] for request in plan]


def episode_returns(trajectories: Iterable[Trajectory], ungradable: float | None = None) -> list[float | None]:
    """Return the sum of rewards of each episode.

    Args:
        trajectories: the episodes.
        ungradable: what stands for an episode that says nothing about the policy; see :func:`gem_rl.is_gradable`.
    """
    return [one.episode_return if is_gradable(one) else ungradable for one in trajectories]


def _repeated(requests: Iterable[EpisodeRequest]) -> list[EpisodeRequest]:
    """Return requests with repetitions that count the earlier ones of the same environment and seed."""
    seen: Counter[tuple[str, int]] = Counter()
    plan = []
    for request in requests:
        env, seed, _ = request.key
        plan.append(replace(request, key=request.key._replace(repetition=seen[env, seed])))
        seen[env, seed] += 1
    return plan
