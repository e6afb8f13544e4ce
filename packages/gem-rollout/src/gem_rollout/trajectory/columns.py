"""Trajectories as columns: :func:`to_dataset`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gem.errors import MissingPluginError
from gem_rollout.trajectory.record import Trajectory

__all__ = ["to_dataset"]

_COLUMNS = {
    "env_id": "string",
    "seed": "string",  # seeds can exceed 64 bits
    "repetition": "int64",
    "episode": "int64",
    "turn": "int64",
    "observation": "string",
    "action": "string",
    "reward": "float64",
    "terminated": "bool",
    "truncated": "bool",
    "info": "string",
    "prompt_token_ids": ["int64"],
    "token_ids": ["int64"],
    "logprobs": ["float64"],
    "finish_reason": "string",
    "reasoning": "string",
    "usage": "string",
    "model": "string",
    "version": "string",
    "version_spans": "string",
    "acting_agent": "string",
    "step": "int64",
    "act_seconds": "float64",
    "step_seconds": "float64",
    "agent": "string",
    "stop_reason": "string",
    "failure": "string",
    "spec": "string",
}
"""Each column and its Arrow type; a list of one type stands for lists of it."""


def to_dataset(trajectories: Iterable[Trajectory]) -> Any:
    """Return a ``datasets.Dataset`` with one row a turn; ``.to_parquet(path)`` writes it as Parquet.

    Columns and their types are always the same. ``episode`` and ``turn`` count from 0; ``env_id``, ``seed``,
    ``repetition``, ``agent``, ``stop_reason``, ``failure`` and ``spec`` belong to the episode, the others to the turn
    and are named as in :class:`~gem_rollout.trajectory.Transition`; ``acting_agent`` is its ``agent``. Text stays text;
    other observations and actions, ``info``, ``usage``, ``version_spans``, ``failure`` and ``spec`` are JSON, and
    ``version`` is text. Each row has the whole observation, so under a history wrapper the data set is far larger than
    the file of episodes.

    Raises:
        MissingPluginError: if the library ``datasets`` is not installed.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            "to_dataset needs the library datasets; run: pip install 'gem-rollout[datasets]'"
        ) from error
    features = datasets.Features(
        {
            name: [datasets.Value(kind[0])] if isinstance(kind, list) else datasets.Value(kind)
            for name, kind in _COLUMNS.items()
        }
    )
    rows = [row for episode, trajectory in enumerate(trajectories) for row in _rows(episode, trajectory)]
    columns = {name: [row[name] for row in rows] for name in _COLUMNS}
    return datasets.Dataset.from_dict(columns, features=features)


def _rows(episode: int, trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    failure = trajectory.failure
    of_episode = {
        "env_id": None if trajectory.spec is None else trajectory.spec.id,
        "seed": None if trajectory.seed is None else str(trajectory.seed),
        "repetition": trajectory.repetition,
        "episode": episode,
        "agent": _as_text(trajectory.agent),
        "stop_reason": trajectory.stop_reason,
        "failure": None if failure is None else json.dumps(vars(failure)),
        "spec": None if trajectory.spec is None else trajectory.spec.to_json(),
    }
    for number, turn in enumerate(trajectory.transitions):
        yield {
            **of_episode,
            "turn": number,
            "observation": _as_text(turn.observation),
            "action": _as_text(turn.action),
            "reward": turn.reward,
            "terminated": turn.terminated,
            "truncated": turn.truncated,
            "info": json.dumps(turn.info),
            "prompt_token_ids": turn.prompt_token_ids,
            "token_ids": turn.token_ids,
            "logprobs": turn.logprobs,
            "finish_reason": _text_or_none(turn.finish_reason),
            "reasoning": _text_or_none(turn.reasoning),
            "usage": None if turn.usage is None else json.dumps(turn.usage),
            "model": _text_or_none(turn.model),
            "version": _text_or_none(turn.version),
            "version_spans": _text_or_none(turn.version_spans),
            "acting_agent": _text_or_none(turn.agent),
            "step": turn.step,
            "act_seconds": turn.act_seconds,
            "step_seconds": turn.step_seconds,
        }


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _as_text(value)


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode("utf-8")  # Arrow refuses lone surrogates
