"""The games for two: :class:`TwoPlayerEnv`."""

from __future__ import annotations

from gem_envs_games.duels.seated_game import SEATS, MoveT, SeatedGameEnv

__all__ = ["PLAYERS", "TwoPlayerEnv"]

PLAYERS = SEATS[:2]


class TwoPlayerEnv(SeatedGameEnv[MoveT]):
    """Two players, ``"first"`` and ``"second"``, who act in turn."""

    def __init__(self) -> None:
        super().__init__(PLAYERS)
