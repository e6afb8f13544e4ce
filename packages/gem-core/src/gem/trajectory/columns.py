"""Trajectories as columns: :func:`to_dataset`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gem.errors import MissingPluginError
from gem.trajectory.record import Trajectory

__all__ = ["to_dataset"]


def to_dataset(trajectories: Iterable[Trajectory]) -> Any:
    """Return a ``datasets.Dataset`` with one row a turn; ``.to_parquet(path)`` writes it as Parquet.

    Columns: ``env_id``, ``seed``, ``episode`` and ``turn`` (both from 0), ``observation``, ``action``,
    ``reward``, ``terminated``, ``truncated``, ``info``, ``token_ids``, ``logprobs``, ``agent``, ``spec``.
    Text stays text; other observations and actions, ``info`` and ``spec`` are JSON.

    Raises:
        MissingPluginError: if the library ``datasets`` is not installed.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            "to_dataset needs the library datasets; run: pip install 'gem-core[datasets]'"
        ) from error
    rows = [
        {
            "env_id": None if trajectory.spec is None else trajectory.spec.id,
            "seed": None if trajectory.seed is None else str(trajectory.seed),  # seeds can exceed 64 bits
            "episode": episode,
            "turn": turn,
            "observation": _as_text(transition.observation),
            "action": _as_text(transition.action),
            "reward": transition.reward,
            "terminated": transition.terminated,
            "truncated": transition.truncated,
            "info": json.dumps(transition.info),
            "token_ids": transition.token_ids,
            "logprobs": transition.logprobs,
            "agent": trajectory.agent,
            "spec": None if trajectory.spec is None else trajectory.spec.to_json(),
        }
        for episode, trajectory in enumerate(trajectories)
        for turn, transition in enumerate(trajectory.transitions)
    ]
    return datasets.Dataset.from_list(rows)


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode("utf-8")  # Arrow refuses lone surrogates
