"""Scoring an answer as the library does, without execution, hangs or crashes caused by the answer.

Scorers that only compare text, or read a bounded number of digits or cells, run here: :data:`IN_PROCESS`, each with the
reason. All others, and every answer longer than ``LONGEST_IN_PROCESS``, are scored in a worker that can be killed
(:mod:`gem_processes`). An exception of the scorer, and a score outside 0 … 1, become 0.0 with ``info["scorer_error"]``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gem.errors import ProcessCallError, ProcessTimeoutError
from gem.tables import read_table
from gem_envs_reasoning import corrections
from gem_envs_reasoning.encoding import decode, encode
from gem_envs_reasoning.items import DataSet, catalogue, load_data_set
from gem_processes import ProcessPool, SharedResource

__all__ = ["IN_PROCESS", "LONGEST_IN_PROCESS", "POOL", "SECONDS", "WORKERS", "needs_worker", "score"]

SECONDS = 4.0
"""Wall seconds that a worker may take for one answer."""
LONGEST_IN_PROCESS = 2_000
LONGEST = 1 << 20
"""Maximum number of characters; a longer answer is not scored."""


IN_PROCESS: dict[str, str] = {
    name: reason for reason, names in read_table(__file__, "in_process.json").items() for name in names
}
"""Data set → the reason that its scorer may run in the caller's process."""

POOL = ProcessPool(
    "gem_envs_reasoning.scoring:score_in_worker", seconds=SECONDS, warm_up="gem_envs_reasoning.scoring:warm_up"
)
"""Shared by all environments of a process; nothing starts before the first answer that needs it."""
WORKERS = SharedResource(lambda: POOL, ProcessPool.close)
"""The same pool with a count of users; the last one ends its processes."""


def score(data_set: DataSet, epoch: int, answer: str, entry: Mapping[str, Any]) -> tuple[float, str | None]:
    """Return the library's score, and the scorer's fault if that made the score 0.0."""
    if len(answer) > LONGEST:
        return 0.0, f"the answer has more than {LONGEST} characters"
    if not needs_worker(data_set.name, answer):
        return _score(data_set.name, data_set.library_data_set(epoch), answer, entry)
    try:
        reward, error = POOL(
            data_set.name, json.dumps(encode(data_set.settings())), encode(dict(entry)), _clean(answer)
        )
    except ProcessTimeoutError:
        return 0.0, f"no score within {SECONDS:g} s"
    except ProcessCallError as problem:
        return 0.0, str(problem)[:300]
    return float(reward), error


def needs_worker(name: str, answer: str) -> bool:
    """Return whether an answer must be scored in a worker."""
    return name not in IN_PROCESS or len(answer) > LONGEST_IN_PROCESS


def score_in_worker(name: str, settings: str, entry: Any, answer: str) -> tuple[float, str | None]:
    """Run :func:`score` in a worker."""
    return _score(name, _library_data_set(name, settings), answer, decode(entry))


def warm_up() -> None:
    """Import the modules of the scorers in workers, so that the first answers meet the time limit."""
    for name in sorted(catalogue().keys() - IN_PROCESS.keys()):
        load_data_set(name)


@lru_cache(maxsize=64)
def _library_data_set(name: str, settings: str) -> Any:
    return DataSet(name, **decode(json.loads(settings))).library_data_set(0)


def _clean(answer: str) -> str:
    # Not every JSON library accepts lone surrogates; no right answer has one.
    return answer.encode("utf-8", "replace").decode("utf-8")


def _score(name: str, dataset: Any, answer: str, entry: Any) -> tuple[float, str | None]:
    try:
        own = corrections.SCORES.get(name)
        reward = float(own(dataset, answer, entry) if own is not None else dataset.score_answer(answer, entry))
    except Exception as error:
        return 0.0, f"{type(error).__name__}: {error}"[:300]
    if not 0.0 <= reward <= 1.0 + 1e-9:  # nor NaN
        return 0.0, f"the scorer returned {reward!r}"
    return min(reward, 1.0), None
