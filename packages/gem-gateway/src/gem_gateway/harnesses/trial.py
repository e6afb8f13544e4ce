"""Tries a harness out: the real program plays real episodes, with a model that knows the answers: :func:`try_out`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem.registry import spec as find_spec
from gem_gateway.harnesses.boxes import HarnessBox
from gem_gateway.harnesses.policies import harness_policy
from gem_gateway.harnesses.reference_model import ReferenceModel, with_reference_model
from gem_gateway.harnesses.table import harness_of
from gem_rollout import EpisodeRequest, RolloutEngine
from gem_rollout.trajectory import EpisodeKey, Trajectory

__all__ = ["HarnessTrial", "try_out"]


@dataclass(frozen=True)
class HarnessTrial:
    """What became of one episode."""

    record: Trajectory
    model_calls: int
    """Requests of the program to its model, those for titles and the like included."""
    tools: int
    """Tools that its first request offered to the model."""

    @property
    def box(self) -> str:
        """Where the program ran: ``task`` or ``none``; empty if it made no call."""
        return next((str(turn.metadata["harness_box"]) for turn in self.record.transitions if turn.metadata), "")

    @property
    def verdict(self) -> str:
        """``solved``, or what happened instead."""
        if self.record.outcome == "succeeded":
            return "solved"
        failure = self.record.failure
        return f"{self.record.outcome}: {failure.kind if failure is not None else self.record.stop_reason}"


async def try_out(
    harness: str,
    env_id: str,
    *,
    seed: int = 0,
    kwargs: Mapping[str, Any] | None = None,
    seconds: float = 600.0,
    box: HarnessBox = "auto",
) -> HarnessTrial:
    """Have an agent program play one episode, with a model that answers with the calls of the reference policy.

    Args:
        harness: its name, as for :func:`~gem_gateway.harnesses.policies.harness_policy`.
        env_id: an environment with a reference policy.
        seed: of the episode.
        kwargs: arguments of the environment.
        seconds: after which the episode ends.
        box: where the program runs, as for :func:`~gem_gateway.harnesses.policies.harness_policy`.

    Raises:
        HarnessError: if the program is not installed.
    """
    model = ReferenceModel(plays_by_command=harness_of(harness).tools == "command")
    make_policy = with_reference_model(harness_policy(harness, model, seconds=seconds, box=box), model)
    request = EpisodeRequest(find_spec(env_id).with_kwargs(dict(kwargs or {})), EpisodeKey(env_id, seed, 0))
    async with RolloutEngine([request], make_policy, concurrency=1) as engine:
        async for record in engine:
            tools = len(model.requests[0][1]) if model.requests else 0
            return HarnessTrial(record, len(model.requests), tools)
    raise AssertionError("an engine delivers every episode of its plan")
