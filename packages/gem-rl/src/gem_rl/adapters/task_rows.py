"""Data sets of prompts: :func:`rows_of_tasks`, and the way back to episodes, :func:`requests_of`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gem
from gem.arguments import integer
from gem.errors import ArgumentError
from gem.wrappers import WrapperLike
from gem_rollout import EpisodeRequest
from gem_rollout.history.messages import as_messages
from gem_rollout.trajectory import EpisodeKey

__all__ = ["requests_of", "rows_of_tasks"]


def rows_of_tasks(
    env_ids: str | Sequence[str],
    tasks: int,
    *,
    seed: int = 0,
    wrappers: WrapperLike | Iterable[WrapperLike] = "messages",
) -> list[dict[str, Any]]:
    """Return a data set of initial states, for trainers that read prompts from one.

    A row has ``prompt``, the chat messages that the agent sees first, ``env_id`` and ``seed``. The first message has
    ``env_id`` and ``seed`` as well, since some trainers hand on the prompt alone; chat templates ignore them.

    Args:
        env_ids: environments, whose rows take turns.
        tasks: rows of each environment.
        seed: of the first row of each environment; each later one adds one.
        wrappers: as in ``gem.make``.

    Raises:
        ArgumentError: for a number out of range. Errors of ``gem.make`` are passed on.
    """
    integer("tasks", tasks, minimum=1)
    integer("seed", seed, minimum=0)
    ids = [env_ids] if isinstance(env_ids, str) else list(env_ids)
    columns: list[list[dict[str, Any]]] = []
    for env_id in ids:
        with gem.make(env_id, wrappers=wrappers) as env:
            rows = []
            for number in range(seed, seed + tasks):
                task = {"env_id": env_id, "seed": number}
                first, *rest = as_messages(env.reset(seed=number)[0])
                rows.append({"prompt": [{**first, **task}, *rest], **task})
            columns.append(rows)
    return [row for rows in zip(*columns, strict=True) for row in rows]


def requests_of(rows: Iterable[Mapping[str, Any] | Sequence[Mapping[str, Any]]]) -> list[EpisodeRequest]:
    """Return the episodes that rows, or prompts alone, of :func:`rows_of_tasks` stand for.

    Raises:
        ArgumentError: for a row or prompt without ``env_id`` and ``seed``. Errors of ``gem.spec`` are passed on.
    """
    found = []
    for row in rows:
        task = row if isinstance(row, Mapping) else row[0] if len(row) and isinstance(row[0], Mapping) else {}
        if "env_id" not in task or "seed" not in task:
            raise ArgumentError(
                f"this row names no episode: it needs 'env_id' and 'seed', see rows_of_tasks(); got {row!r:.200}"
            )
        spec = gem.spec(str(task["env_id"]))
        found.append(EpisodeRequest(spec, EpisodeKey(spec.id, int(task["seed"]))))
    return found
