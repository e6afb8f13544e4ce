"""Interactive fiction of TextWorld and Jericho, in a process and a Python of its own."""

from __future__ import annotations

import os
import sys
import unicodedata
from abc import abstractmethod
from itertools import count
from pathlib import Path
from typing import Any

from gem.arguments import boolean, integer, real, string
from gem.core import Action, Info
from gem.errors import ArgumentError, LineWorkerError
from gem.phases import EpisodePhase, out_of_order
from gem.policies import Policy
from gem.text import extract_last_boxed_answer
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn, MalformedActionError, text_of_action
from gem_bridges.replayed_env import ReplayedEnv
from gem_processes import LineWorker

__all__ = ["FictionEnv", "FictionGame", "JerichoEnv", "TextWorldEnv", "TextWorldPlanPolicy"]

_WORKER = Path(__file__).with_name("worker.py")
_LONGEST_COMMAND = 190  # Jericho cuts what has more than 198 bytes
_MAX_ANSWER_BYTES = 2**20
_COMMON = ("look", "inventory", "north", "south", "east", "west", "up", "down", "take all", "wait")
_numbers = count()


class FictionGame:
    """A game in a worker, and what it shows now."""

    def __init__(self, worker: LineWorker, wanted: dict[str, Any], commands: bool) -> None:
        self._worker = worker
        self._number = next(_numbers)
        self._commands = commands
        self.shown = self._asked("open", **wanted)

    def step(self, command: str) -> None:
        """Play a command."""
        self.shown = self._asked("step", text=command)

    def close(self) -> None:
        """Forget the game; raises nothing."""
        if self._worker.is_alive:
            try:
                self._asked("close")
            except BridgeError:
                self._worker.close()

    def _asked(self, op: str, **more: Any) -> dict[str, Any]:
        try:
            return self._worker.request({"op": op, "game": self._number, "commands": self._commands, **more})
        except LineWorkerError as error:
            raise BridgeError(str(error)) from error


class FictionEnv(ReplayedEnv):
    r"""A game of interactive fiction for one agent.

    An action is a command: the last ``\boxed{…}``, or the last line of the text. A reward is the change of the score;
    with ``normalize``, divided by the game's highest, so that a won game pays 1. The ``info`` has ``score`` and
    ``max_score``. The worker is killed by ``close`` and after a fault; it ends when this process does.

    Args:
        python: the Python that has the library; by default the one of this process.
        show_commands: whether an observation ends with the commands that have an effect.
        normalize: whether scores are divided by the highest.
        max_turns: turns after which an episode is truncated.
        timeout: seconds for an answer of the worker, the making of a game included.
        max_memory: bytes of address space that the worker may have.
    """

    vector_mode = "thread"

    def __init__(
        self,
        python: str | None,
        show_commands: bool,
        normalize: bool,
        max_turns: int,
        timeout: float,
        max_memory: int,
    ) -> None:
        super().__init__(max_turns)
        self.python = sys.executable if python is None else str(Path(string("python", python)).expanduser())
        self.show_commands = boolean("show_commands", show_commands)
        self.normalize = boolean("normalize", normalize)
        self.timeout = real("timeout", timeout, minimum=0.01)
        self.max_memory = integer("max_memory", max_memory, minimum=2**28)
        self._worker: LineWorker | None = None

    @abstractmethod
    def _wanted(self, seed: int) -> dict[str, Any]:
        """Return the worker's arguments for opening a game."""

    def sample_random_action(self) -> str:
        """Return one of the commands that are known to have an effect; a common one where none is."""
        if self._phase is EpisodePhase.NOT_BEGUN:
            raise out_of_order(self, self._phase)
        known = self._game.shown["commands"] if self._game is not None else []
        return str(self.action_rng.choice(known or _COMMON))

    def close(self) -> None:
        """Kill the worker."""
        self._game = None
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _open(self, seed: int) -> FictionGame:
        if self._worker is None or not self._worker.is_alive:
            command = [self.python, "-u", str(_WORKER), str(self.max_memory)]
            try:
                self._worker = LineWorker(command, self.timeout, _MAX_ANSWER_BYTES)
            except LineWorkerError as error:
                raise BridgeError(str(error)) from error
        try:
            return FictionGame(self._worker, self._wanted(seed), self.show_commands)
        except BridgeError as error:
            advice = "; install the library there, or name the Python that has it with the argument python"
            advice = advice if "No module named" in str(error) else ""
            raise BridgeError(f"{self.name} cannot be begun with {self.python}: {error}{advice}") from None

    @staticmethod
    def _close_game(game: FictionGame) -> None:
        game.close()

    def _repeat(self, game: FictionGame, text: str) -> None:
        game.step(text)

    def _first(self) -> ForeignTurn:
        return ForeignTurn(self._observed(), info=self._scores())

    def _play(self, action: Action) -> ForeignTurn:
        command = _command(text_of_action(action))
        before = self._game.shown
        self._journal.append(command)
        self._game.step(command)
        shown = self._game.shown
        won, lost = bool(shown["won"]), bool(shown["lost"])
        reward = float(shown["score"] - before["score"])
        if self.normalize and shown["max_score"] > 0:
            reward /= shown["max_score"]
        status = "illegal" if before["commands"] and command not in before["commands"] else "legal"
        info = {**self._scores(), **({"success": won} if won or lost else {})}
        return ForeignTurn(self._observed(), reward, won or lost, status=status, info=info)

    def _scores(self) -> dict[str, Any]:
        return {"score": self._game.shown["score"], "max_score": self._game.shown["max_score"]}

    def _observed(self) -> str:
        shown = self._game.shown
        if not (self.show_commands and shown["commands"]) or shown["won"] or shown["lost"]:
            return str(shown["text"])
        return f"{shown['text']}\n\nCommands: {', '.join(shown['commands'])}"

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_worker": None}


class TextWorldEnv(FictionEnv):
    """A game of TextWorld: generated by a challenge at a level, or a game file.

    The worker generates and compiles a game when its seed first comes up, which takes seconds, and keeps it in
    ``folder``. The seed of an episode chooses among ``games`` of them, from ``first_game`` on; disjoint ranges are
    disjoint sets of games. A command that has no effect has the ``action_status`` ``"illegal"``.

    Args:
        challenge: ``"treasure_hunter"`` (levels 1 to 30), ``"coin_collector"`` (1 to 300) or ``"simple"``
            (``"dense"``, ``"balanced"``, ``"sparse"`` rewards); None with ``path``.
        level: the challenge's level.
        path: a game file with its ``.json`` beside it, in place of a challenge.
        first_game: seed of the first game.
        games: number of games.
        folder: where generated games are kept; by default ``gem/textworld`` in the user's cache folder.
        python, show_commands, normalize, max_turns, timeout, max_memory: see :class:`FictionEnv`.

    Raises:
        ArgumentError: if there is no such challenge or file.
    """

    challenges = ("coin_collector", "simple", "treasure_hunter")

    def __init__(
        self,
        challenge: str | None = None,
        level: str | int | None = None,
        path: str | None = None,
        first_game: int = 0,
        games: int = 100,
        folder: str | None = None,
        python: str | None = None,
        show_commands: bool = True,
        normalize: bool = True,
        max_turns: int = 100,
        timeout: float = 120.0,
        max_memory: int = 2**32,
    ) -> None:
        super().__init__(python, show_commands, normalize, max_turns, timeout, max_memory)
        if (challenge is None) == (path is None):
            raise ArgumentError("a game of TextWorld is a challenge with a level, or a path: give one of the two")
        self.path = None if path is None else _existing(path)
        self.challenge, self.level = challenge, level
        self._settings = {} if challenge is None else self._checked(challenge, level)
        self.first_game = integer("first_game", first_game, minimum=0, maximum=2**30)
        self.games = integer("games", games, minimum=1, maximum=2**30)
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        kept = f"{cache}/gem/textworld" if folder is None else string("folder", folder)
        self.folder = str(Path(kept).expanduser().absolute())

    @property
    def plan(self) -> list[str]:
        """The commands with which TextWorld would win from here."""
        return [] if self._game is None else list(self._game.shown["plan"])

    @property
    def name(self) -> str:
        return f"textworld:{self.path or f'{self.challenge}-{self.level}'}"

    def _checked(self, challenge: str, level: object) -> dict[str, Any]:
        if challenge not in self.challenges:
            raise ArgumentError(f"challenge must be one of {', '.join(self.challenges)}, got {challenge!r:.80}")
        if challenge == "simple":
            if level not in ("dense", "balanced", "sparse"):
                raise ArgumentError(f"simple has the levels dense, balanced, sparse, got {level!r:.80}")
            return {"rewards": level, "goal": "detailed", "test": False}
        highest = 30 if challenge == "treasure_hunter" else 300
        if not str(level).isdecimal() or not 1 <= int(str(level)) <= highest:
            raise ArgumentError(f"{challenge} has the levels 1 to {highest}, got {level!r:.80}")
        return {"level": int(str(level))}

    def _wanted(self, seed: int) -> dict[str, Any]:
        game = self.first_game + seed % self.games
        return {
            "library": "textworld",
            "path": self.path,
            "challenge": self.challenge,
            "settings": self._settings,
            "seed": game,
            "folder": self.folder,
        }


class TextWorldPlanPolicy(Policy[str, str]):
    """Follows TextWorld's own plan, which wins the game."""

    def __init__(self, env: TextWorldEnv) -> None:
        self.env = env

    def act(self, observation: str, info: Info) -> str:
        """Return the next command of the plan; ``look`` where there is no way to win any more."""
        return (self.env.plan or ["look"])[0]


class JerichoEnv(FictionEnv):
    """A story file of the Z-machine, played by Jericho.

    Scores and the end are known for the games that Jericho supports. The valid commands are searched by trying many,
    which takes up to seconds a turn, so they are shown on demand alone.

    Args:
        path: the story file, such as ``zork1.z5``.
        python, show_commands, normalize, max_turns, timeout, max_memory: see :class:`FictionEnv`.

    Raises:
        ArgumentError: if there is no such file.
    """

    def __init__(
        self,
        path: str,
        python: str | None = None,
        show_commands: bool = False,
        normalize: bool = True,
        max_turns: int = 100,
        timeout: float = 120.0,
        max_memory: int = 2**32,
    ) -> None:
        super().__init__(python, show_commands, normalize, max_turns, timeout, max_memory)
        self.path = _existing(path)

    @property
    def name(self) -> str:
        return f"jericho:{self.path}"

    def _wanted(self, seed: int) -> dict[str, Any]:
        return {"library": "jericho", "path": self.path, "seed": seed >> 1}


def _existing(path: object) -> str:
    full = Path(string("path", path)).expanduser().absolute()
    if not full.is_file():
        raise ArgumentError(f"there is no game file {full}")
    return str(full)


def _command(text: str) -> str:
    boxed = extract_last_boxed_answer(text)
    lines = (text if boxed is None else boxed).strip().split("\n")
    command = lines[-1].strip()
    if not command:
        raise MalformedActionError("a command is needed, such as: look")
    if len(command.encode()) > _LONGEST_COMMAND:
        raise MalformedActionError(f"a command has at most {_LONGEST_COMMAND} bytes")
    if any(unicodedata.category(character).startswith("C") for character in command):
        raise MalformedActionError("a command has no control characters")
    return command
