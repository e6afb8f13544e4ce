"""Foreign environments whose episodes are rows of a data set, played in a worker."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from gem.arguments import check_names, integer
from gem.phases import EpisodePhase, out_of_order
from gem_bridges.errors import BridgeError
from gem_bridges.replayed_env import SEED_BITS
from gem_bridges.worker_env import WorkerEnv, asked
from gem_processes import LineWorker

__all__ = ["RowsEnv"]


class RowsEnv(WorkerEnv, ABC):
    """A foreign environment whose worker loads rows, of which each episode plays one.

    The row is the episode's seed modulo the number of rows; the option ``index`` of :meth:`reset` names one.
    """

    def __init__(self, python: str | None, max_turns: int, timeout: float, max_memory: int) -> None:
        super().__init__(python, max_turns, timeout, max_memory)
        self._row_count = 0

    @abstractmethod
    def _loading(self) -> dict[str, Any]:
        """Return the fields of the worker's first request, ``load``, which it answers with the number of ``rows``.

        Raises:
            ArgumentError: if something that the worker needs is missing.
        """

    @staticmethod
    @abstractmethod
    def _advice(error: str) -> str:
        """Return what follows a message about a failed loading: what to do about it, or nothing."""

    def sample_random_action(self) -> str:
        """Return a word of the last observation."""
        if self._phase is EpisodePhase.NOT_BEGUN:
            raise out_of_order(self, self._phase)
        seen = self._observation if isinstance(self._observation, str) else json.dumps(self._observation)
        return str(self.action_rng.choice(seen.split() or ["yes"]))

    def _drawn_seed(self, options: Mapping[str, Any]) -> int:
        drawn = self.rng.getrandbits(SEED_BITS)
        check_names(f"a reset of {self.name}", [str(option) for option in options], ("index",))
        if "index" not in options:
            return drawn
        self._loaded()
        index = integer("index", options["index"], minimum=0, maximum=self._row_count - 1)
        # A seed of this row that is no larger than the drawn one, so that it fits too.
        return max(drawn - drawn % self._row_count + index - self._row_count, index)

    def _loaded(self) -> LineWorker:
        """Return the worker, which has the rows.

        Raises:
            BridgeError: if they cannot be loaded, or there are none.
        """
        if (running := self._running_worker()) is not None:
            return running
        wanted = self._loading()
        worker = self._new_worker()
        try:
            self._row_count = int(asked(worker, "load", **wanted)["rows"])
            if self._row_count == 0:
                raise BridgeError("it has no rows")
        except BridgeError as error:
            worker.close()
            where = f"{self.name} cannot be loaded with {self.python}: {error}"
            raise BridgeError(f"{where}{self._advice(str(error))}") from None
        self._worker = worker
        return worker
