"""From ids to specs. Resolving contacts no server: the environment does when it is first reset."""

from __future__ import annotations

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_bridges.addresses import base_address

__all__ = [
    "resolve_agentgym",
    "resolve_gym",
    "resolve_jericho",
    "resolve_openenv",
    "resolve_textarena",
    "resolve_textworld",
    "resolve_verifiers",
]


def resolve_openenv(env_id: str) -> EnvSpec:
    """Return the spec of ``openenv:URL``; ArgumentError if ``URL`` is no address."""
    url = base_address(env_id, env_id.removeprefix("openenv:"))
    return EnvSpec(
        env_id, "gem_bridges.openenv.env:OpenEnvEnv", {"url": url}, description=f"The OpenEnv environment at {url}."
    )


def resolve_agentgym(env_id: str) -> EnvSpec:
    """Return the spec of ``agentgym:URL`` or ``agentgym:URL#DIALECT``; ArgumentError if ``URL`` is no address."""
    address, _, dialect = env_id.removeprefix("agentgym:").partition("#")
    url = base_address(env_id, address)
    return EnvSpec(
        env_id,
        "gem_bridges.agentgym.env:AgentGymEnv",
        {"url": url, "dialect": dialect} if dialect else {"url": url},
        description=f"The AgentGym environment at {url}.",
    )


def resolve_gym(env_id: str) -> EnvSpec:
    """Return the spec of ``gym:NAME``; Gymnasium is imported when the environment is made."""
    name = env_id.removeprefix("gym:")
    return EnvSpec(
        env_id,
        "gem_bridges.gymnasium.env:GymnasiumTextEnv",
        {"env_id": name},
        description=f"The environment {name} of Gymnasium, as text.",
    )


def resolve_textarena(env_id: str) -> EnvSpec:
    """Return the spec of ``textarena:NAME``, one seat, or of ``textarena:NAME#PLAYERS``, all seats.

    TextArena is imported when the environment is made.

    Raises:
        ArgumentError: if ``PLAYERS`` is no number of at least 2.
    """
    name, mark, players = env_id.removeprefix("textarena:").partition("#")
    if not mark:
        return EnvSpec(
            env_id,
            "gem_bridges.textarena.env:TextArenaEnv",
            {"game": name},
            description=f"The game {name} of TextArena, one seat.",
        )
    if not players.isdecimal() or int(players) < 2:
        raise ArgumentError(
            f"{env_id} must end with the number of players, at least 2, as in textarena:TicTacToe-v0#2; "
            f"without it, one seat is played"
        )
    return EnvSpec(
        env_id,
        "gem_bridges.textarena.players_env:TextArenaPlayersEnv",
        {"game": name, "players": int(players)},
        description=f"The game {name} of TextArena, {int(players)} seats.",
    )


def resolve_textworld(env_id: str) -> EnvSpec:
    """Return the spec of ``textworld:CHALLENGE-LEVEL`` or ``textworld:PATH``, a game file."""
    name = env_id.removeprefix("textworld:")
    challenge, _, level = name.partition("-")
    is_path = "/" in name or name.endswith((".z8", ".ulx", ".json"))
    return EnvSpec(
        env_id,
        "gem_bridges.fiction.env:TextWorldEnv",
        {"path": name} if is_path else {"challenge": challenge, "level": level},
        description=f"The game {name} of TextWorld, in a process of its own.",
        reference_policy="gem_bridges.fiction.env:TextWorldPlanPolicy",
        reference_sees="state",
    )


def resolve_jericho(env_id: str) -> EnvSpec:
    """Return the spec of ``jericho:PATH``, a story file."""
    path = env_id.removeprefix("jericho:")
    return EnvSpec(
        env_id,
        "gem_bridges.fiction.env:JerichoEnv",
        {"path": path},
        description=f"The story file {path}, played by Jericho in a process of its own.",
    )


def resolve_verifiers(env_id: str) -> EnvSpec:
    """Return the spec of ``verifiers:PACKAGE``, an environment package of verifiers before 0.4.

    The package is imported by a process of its own, when the environment is first reset.
    """
    name = env_id.removeprefix("verifiers:")
    return EnvSpec(
        env_id,
        "gem_bridges.verifiers.env:VerifiersEnv",
        {"package": name},
        description=f"The environment package {name} of verifiers before 0.4, in a process of its own.",
    )
