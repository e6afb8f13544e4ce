"""Environments of skyrl-gym, in a process and a Python of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.arguments import string
from gem.core import Action
from gem.errors import ArgumentError, ArgumentTypeError
from gem_bridges.foreign_env import ForeignTurn, text_of_action
from gem_bridges.foreign_server_env import reward_of
from gem_bridges.messages import observed
from gem_bridges.rows_env import RowsEnv
from gem_bridges.worker_env import WorkerGame
from gem_processes import LineWorker

__all__ = ["SkyRLEnv", "SkyRLEpisode"]

_EXAMPLE = "gem.make('skyrl:gsm8k', rows='train.jsonl')"


class SkyRLEpisode(WorkerGame):
    """An episode in a worker, and what it shows now.

    Attributes:
        index: the row that is played.
    """

    def __init__(self, worker: LineWorker, index: int, seed: int) -> None:
        self.index = index
        super().__init__(worker, {}, {"row": index, "seed": seed})

    def step(self, text: str) -> None:
        """Play the model's answer."""
        self.shown = self._asked("step", text=text)


class SkyRLEnv(RowsEnv):
    """An environment of skyrl-gym on the rows of a file, as SkyRL's trainer plays them.

    An action is the model's text; an observation is the messages that SkyRL would add to the conversation, as one text.
    Rewards and the end are the environment's. ``info["server"]`` has its metadata, and at the end ``info["metrics"]``
    what ``get_metrics`` returns. The row follows from the seed; the option ``index`` of :meth:`reset` names one.

    Args:
        name: the name under which the environment is registered, such as ``"gsm8k"``.
        rows: the file of rows, JSON lines or Parquet, with ``prompt`` (chat messages) and what the environment needs
            (``reward_spec`` …). Rows whose ``env_class`` is another are left out.
        entry_point: ``"module:Class"`` to register under ``name``, for an environment that skyrl-gym does not bring.
        folder: where that module lies if it is not installed.
        config: the environment's part of SkyRL's configuration (``env_config``).
        python: the Python that has skyrl-gym; by default the one of this process.
        max_turns: SkyRL's ``max_turns``, which the environment gets, too; then the episode is truncated.
        timeout: seconds for an answer of the worker, the loading included.
        max_memory: bytes of address space that the worker may have.

    Raises:
        ArgumentError: if ``rows`` or ``folder`` does not exist.
    """

    script = Path(__file__).with_name("worker.py")
    max_answer_bytes = 2**24

    def __init__(
        self,
        name: str,
        rows: str = "",
        entry_point: str | None = None,
        folder: str | None = None,
        config: Mapping[str, Any] | None = None,
        python: str | None = None,
        max_turns: int = 10,
        timeout: float = 120.0,
        max_memory: int = 2**35,
    ) -> None:
        super().__init__(python, max_turns, timeout, max_memory)
        self.environment = string("name", name)
        if not rows:
            raise ArgumentError(f"skyrl:{name} needs the file of its rows, which skyrl-gym does not bring: {_EXAMPLE}")
        self.rows = Path(string("rows", rows)).expanduser().absolute()
        if not self.rows.is_file():
            raise ArgumentError(f"rows must be a file of JSON lines or Parquet, and there is no file {self.rows}")
        self.entry_point = None if entry_point is None else string("entry_point", entry_point)
        self.folder = None if folder is None else str(Path(string("folder", folder)).expanduser().absolute())
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ArgumentError(f"there is no folder {self.folder}")
        if config is not None and not isinstance(config, Mapping):
            raise ArgumentTypeError(f"config must be a dict, got an object of type {type(config).__name__}")
        self.config = dict(config or {})

    @property
    def name(self) -> str:
        return f"skyrl:{self.environment}"

    def _loading(self) -> dict[str, Any]:
        return {
            "name": self.environment,
            "rows": str(self.rows),
            "entry_point": self.entry_point,
            "folder": self.folder,
            "config": self.config,
            "max_turns": self.max_turns,
        }

    @staticmethod
    def _advice(error: str) -> str:
        missing = "No module named 'skyrl_gym'" in error
        return "; install skyrl-gym there, or name the Python that has it with the argument python" if missing else ""

    def _open(self, seed: int) -> SkyRLEpisode:
        worker = self._loaded()
        return SkyRLEpisode(worker, seed % self._row_count, seed)

    def _repeat(self, game: SkyRLEpisode, text: str) -> None:
        game.step(text)

    def _first(self) -> ForeignTurn:
        shown = self._game.shown
        return ForeignTurn(observed(shown["messages"]), extra=shown["metadata"], info={"index": self._game.index})

    def _play(self, action: Action) -> ForeignTurn:
        text = text_of_action(action)
        self._journal.append(text)
        self._game.step(text)
        turn = self._game.shown
        info = {"metrics": turn["metrics"]} if turn["done"] else {}
        reward = reward_of(turn["reward"])
        return ForeignTurn(observed(turn["messages"]), reward, turn["done"], extra=turn["metadata"], info=info)
