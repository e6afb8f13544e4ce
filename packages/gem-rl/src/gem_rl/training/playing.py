"""The episodes of the trainer: played by the model, with its past versions in the other seats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.policies import make_policy
from gem_rl.training.agents import BatchSampler
from gem_rl.training.program_model import ProgramModel
from gem_rl.training.recipe import Recipe
from gem_rl.training.rounds import EarlierRounds
from gem_rl.training.self_play import OpponentPool, SeatedPolicy, agents_in_turn, views
from gem_rl.training.update_journal import UpdateJournal
from gem_rollout import EpisodeLimits, EpisodeRequest, RolloutEngine
from gem_rollout.model_agents import harness_maker
from gem_rollout.seating import seat_of
from gem_rollout.trajectory import Trajectory

__all__ = ["EpisodePlayer"]


class EpisodePlayer:
    """Plays the episodes of a recipe.

    Args:
        recipe: the settings.
        specs: the environments.

    Raises:
        ArgumentError: if several agents of an environment act at once, or opponents are wanted where none can play.
            Errors of ``gem.make`` are passed on.
    """

    def __init__(self, recipe: Recipe, specs: Mapping[str, EnvSpec]) -> None:
        self.recipe = recipe
        self.agents = {spec.id: agents_in_turn(spec) for spec in specs.values()}
        """The agents of each environment; none where there is a single one."""
        if recipe.opponents and not any(self.agents.values()):
            raise ArgumentError(
                f"opponents = {recipe.opponents} play in environments with several agents, and "
                f"{', '.join(self.agents)} has one; set opponents to 0"
            )
        if recipe.keep_turns and (several := [name for name, agents in self.agents.items() if agents]):
            raise ArgumentError(
                f"keep_turns goes on within episodes of one agent, and {several[0]} has several; leave it out: a "
                "killed run then plays its update again, to the same weights"
            )
        self.pool = OpponentPool(recipe.opponents, recipe.opponent_every, recipe.opponent_draw)

    def play(
        self,
        requests: Sequence[EpisodeRequest],
        model: Any,
        tokenizer: Any,
        samples: torch.Generator,
        *,
        version: int,
        temperature: float | None = None,
        limits: EpisodeLimits | None = None,
        against: Literal["past", "random"] = "past",
        journal: UpdateJournal | None = None,
    ) -> list[Trajectory]:
        """Return the episodes of these requests, played by the model, in the order of the requests.

        Args:
            requests: the episodes.
            model: plays one agent of each, the next with each seed.
            tokenizer: of the model.
            samples: draws the tokens.
            version: of the model's weights.
            temperature: the recipe's by default.
            limits: of each episode.
            against: who plays the other agents: a past version, or the model itself if the recipe has no opponents; or
                random moves.
            journal: keeps the turns, and knows those that were played before a kill, which are not asked for again.
        """
        recipe = self.recipe
        found = {} if journal is None else dict(journal.finished)
        left = [request for request in requests if request.key not in found]

        async def playing() -> None:
            def sampler(**others: Any) -> BatchSampler:
                return BatchSampler(
                    model,
                    tokenizer,
                    samples,
                    # The calls of programs come at any time.
                    (lambda: 1) if recipe.harness else (lambda: engine.counts.running),
                    max_new_tokens=recipe.max_new_tokens,
                    temperature=recipe.temperature if temperature is None else temperature,
                    history=recipe.history,
                    rereads=journal is not None,
                    **others,
                )

            current = sampler(earlier=None if journal is None or recipe.harness else _earlier(requests, journal))
            past = [sampler(beside=current, weights=one.weights, version=one.update) for one in self.pool.versions]

            def policy(env: Env[Any, Any], agent: str | None = None) -> Any:
                if agent is None:
                    return current.agent(env)
                assert env.spec is not None
                name, agents = env.spec.id, self.agents[env.spec.id]

                def seated(seed: int) -> Any:
                    if agent == seat_of(agents, seed):
                        return current.agent(env)
                    if against == "random":
                        return make_policy("random", env, agent)
                    drawn = self.pool.drawn(name, seed)
                    return (current if drawn is None else past[drawn]).agent(env)

                return SeatedPolicy(seated)

            engine = RolloutEngine(
                left,
                self._program(current, draws) if recipe.harness else policy,
                concurrency=max(1, min(recipe.programs, len(left)) if recipe.harness else len(left)),
                mode="sync",
                limits=limits,
                version=version,
                journal=None if journal is None else journal.turns,
            )
            async with engine:
                async for episode in engine:
                    found[episode.key] = episode
                    if journal is not None:
                        journal.keep(episode)
            current.finish()

        # Drawn before anything else, so that a run that goes on draws the same.
        draws = int(torch.randint(2**62, (), generator=samples)) if recipe.harness and journal is not None else None
        asyncio.run(playing())
        return [found[request.key] for request in requests]

    def _program(self, sampler: BatchSampler, draws: int | None) -> Any:
        """Return the maker of policies of the recipe's agent program, whose model is the sampler's.

        Args:
            sampler: samples what the program is answered.
            draws: see :class:`ProgramModel`.
        """
        tokenizer: Any = sampler.tokenizer  # of a published model, which alone a recipe with a harness has
        options = {"tokenizer": tokenizer.codec}
        if self.recipe.server_tools:
            options["server_tools"] = self.recipe.server_tools
        return harness_maker(self.recipe.harness, ProgramModel(sampler, draws), None, options)

    def played_by(self, maker: Callable[..., Any], requests: Sequence[EpisodeRequest]) -> list[Trajectory]:
        """Return the episodes of another policy than the model, as each of their agents lived them.

        Args:
            maker: called as ``make_policy`` of the rollout engine is.
            requests: the episodes.
        """

        async def playing() -> list[Trajectory]:
            async with RolloutEngine(requests, maker, concurrency=64, mode="sync") as engine:
                return [episode async for episode in engine]

        episodes = sorted(asyncio.run(playing()), key=lambda episode: episode.key)
        return views(episodes, lambda episode: episode.agents)

    def of_learner(self, episodes: Sequence[Trajectory], *, all_seats: bool = False) -> list[Trajectory]:
        """Return what the current policy lived of these episodes.

        Args:
            episodes: as :meth:`play` returns them.
            all_seats: whether it played all agents.
        """

        def chosen(episode: Trajectory) -> Sequence[str]:
            agents = self.agents[episode.spec.id] if episode.spec else ()
            return agents if all_seats or not agents else [seat_of(agents, episode.seed or 0)]

        return views(episodes, chosen)


def _earlier(requests: Sequence[EpisodeRequest], journal: UpdateJournal) -> EarlierRounds:
    """Return the turns that were played before a kill, by the keys of the sampler's agents."""
    played = {**journal.finished, **journal.unfinished()}
    return EarlierRounds(
        {
            (request.spec.id, request.key.seed, request.key.repetition): played[request.key]
            for request in requests
            if request.key in played
        }
    )
