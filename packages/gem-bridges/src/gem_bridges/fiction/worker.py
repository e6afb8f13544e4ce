"""Plays games of TextWorld and Jericho in a process and a Python of their own, for ``line_server.py``.

Both libraries are under the GPL, or need one that is, and TextWorld's is not safe in threads. So this script is the one
file that imports them, by name, since no extra of this package brings them. It needs no other package.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_GAMES: dict[int, Any] = {}  # number of a game -> what plays it


class TextWorldGame:
    """A game file of TextWorld, with its commands and scores."""

    def __init__(self, path: str) -> None:
        textworld = import_module("textworld")

        wanted = textworld.EnvInfos(
            admissible_commands=True,
            policy_commands=True,
            max_score=True,
            score=True,
            won=True,
            lost=True,
        )
        self._env = textworld.start(path, wanted)
        self._state = self._env.reset()

    def step(self, command: str) -> None:
        """Play a command."""
        self._state, _, _ = self._env.step(command)

    def shown(self, want_commands: bool) -> dict[str, Any]:
        """Return what the game shows now."""
        state = self._state
        text = state.feedback or ""
        if "$$$$" in text:  # the banner
            text = text[text.rindex("$$") + 2 :]
        return {
            "text": _tidied(text),
            "commands": list(state["admissible_commands"] or []),
            "plan": list(state["policy_commands"] or []),
            "score": state["score"] or 0,
            "max_score": state["max_score"] or 0,
            "won": bool(state["won"]),
            "lost": bool(state["lost"]),
        }

    def close(self) -> None:
        """Free the game."""
        self._env.close()


class JerichoGame:
    """A story file of the Z-machine."""

    def __init__(self, path: str, seed: int) -> None:
        jericho = import_module("jericho")

        # 0 would mean the seed of the published walkthrough.
        self._env = jericho.FrotzEnv(path, seed=seed + 1)
        self._text, _ = self._env.reset()
        self._supported = bool(self._env.is_fully_supported)

    def step(self, command: str) -> None:
        """Play a command."""
        self._text = self._env.step(command)[0]

    def shown(self, want_commands: bool) -> dict[str, Any]:
        """Return what the game shows now."""
        won = bool(self._env.victory())
        commands = []
        if want_commands and self._supported and not won:
            commands = sorted(self._env.get_valid_actions(use_parallel=False))
        return {
            "text": _tidied(self._text),
            "commands": commands,
            "plan": [],
            "score": self._env.get_score() if self._supported else 0,
            "max_score": self._env.get_max_score() if self._supported else 0,
            "won": won,
            "lost": bool(self._env.game_over()) and not won,
        }

    def close(self) -> None:
        """Free the game."""
        self._env.close()


def _tidied(text: str) -> str:
    # Without the prompt and the status line that the interpreter puts behind it.
    kept = [line for line in text.split("\n") if not line.startswith(">")]
    lines = [line.rstrip() for line in "\n".join(kept).strip().split("\n")]
    return "\n".join(line for place, line in enumerate(lines) if line or (place and lines[place - 1]))


def _compiled(challenge: str, settings: dict[str, Any], seed: int, folder: Path) -> Path:
    """Return the path of a generated game, which is compiled when it is asked for the first time."""
    values = "-".join(str(value) for _, value in sorted(settings.items()))
    path = folder / f"{challenge}-{values}-{seed}.z8"
    if path.exists():
        return path

    from tempfile import TemporaryDirectory

    options = import_module("textworld").GameOptions()
    options.seeds = seed
    with TemporaryDirectory(dir=folder) as making:
        made = Path(making, path.name)
        options.path = str(made)
        make = import_module("textworld.challenges").CHALLENGES[f"tw-{challenge}"][1]
        import_module("textworld.generator").compile_game(make(settings, options), options)
        # The data first, so that a game is never without them. Another process may have made the same files.
        made.with_suffix(".json").replace(path.with_suffix(".json"))
        made.replace(path)
    return path


def _opened(request: dict[str, Any]) -> TextWorldGame | JerichoGame:
    if request["library"] == "jericho":
        return JerichoGame(request["path"], request["seed"])
    if request["path"] is None:
        folder = Path(request["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        return TextWorldGame(str(_compiled(request["challenge"], request["settings"], request["seed"], folder)))
    data = Path(request["path"]).with_suffix(".json")
    if not data.exists():
        raise ValueError(f"TextWorld's data of the game are not beside it: {data}")
    return TextWorldGame(request["path"])


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    number = request["game"]
    if request["op"] == "close":
        game = _GAMES.pop(number, None)
        if game is not None:
            game.close()
        return {}
    if request["op"] == "open":
        _GAMES[number] = _opened(request)
    else:
        _GAMES[number].step(request["text"])
    shown: dict[str, Any] = _GAMES[number].shown(request["commands"])
    return shown
