"""From ids to specs. Resolving contacts no server: the environment does when it is first reset."""

from __future__ import annotations

from typing import Any

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_bridges.addresses import base_address

__all__ = [
    "resolve_agentgym",
    "resolve_gym",
    "resolve_jericho",
    "resolve_nemo_gym",
    "resolve_openenv",
    "resolve_ors",
    "resolve_skyrl",
    "resolve_textarena",
    "resolve_textworld",
    "resolve_verifiers",
]


def resolve_openenv(env_id: str) -> EnvSpec:
    """Return the spec of ``openenv:URL``; ArgumentError if ``URL`` is no address."""
    return _served(env_id, "openenv.env:OpenEnvEnv", "The OpenEnv environment")


def resolve_agentgym(env_id: str) -> EnvSpec:
    """Return the spec of ``agentgym:URL`` or ``agentgym:URL#DIALECT``; ArgumentError if ``URL`` is no address."""
    return _served(env_id, "agentgym.env:AgentGymEnv", "The AgentGym environment", part="dialect")


def resolve_gym(env_id: str) -> EnvSpec:
    """Return the spec of ``gym:NAME``; Gymnasium is imported when the environment is made."""
    name = env_id.removeprefix("gym:")
    about = f"The environment {name} of Gymnasium, as text."
    return _spec(env_id, "gymnasium.env:GymnasiumTextEnv", {"env_id": name}, about)


def resolve_textarena(env_id: str) -> EnvSpec:
    """Return the spec of ``textarena:NAME``, one seat, or of ``textarena:NAME#PLAYERS``, all seats.

    TextArena is imported when the environment is made.

    Raises:
        ArgumentError: if ``PLAYERS`` is no number of at least 2.
    """
    name, mark, players = env_id.removeprefix("textarena:").partition("#")
    about = f"The game {name} of TextArena,"
    if not mark:
        return _spec(env_id, "textarena.env:TextArenaEnv", {"game": name}, f"{about} one seat.")
    if not players.isdecimal() or int(players) < 2:
        raise ArgumentError(
            f"{env_id} must end with the number of players, at least 2, as in textarena:TicTacToe-v0#2; "
            f"without it, one seat is played"
        )
    kwargs = {"game": name, "players": int(players)}
    return _spec(env_id, "textarena.players_env:TextArenaPlayersEnv", kwargs, f"{about} {int(players)} seats.")


def resolve_textworld(env_id: str) -> EnvSpec:
    """Return the spec of ``textworld:CHALLENGE-LEVEL`` or ``textworld:PATH``, a game file."""
    name = env_id.removeprefix("textworld:")
    challenge, _, level = name.partition("-")
    is_path = "/" in name or name.endswith((".z8", ".ulx", ".json"))
    return _spec(
        env_id,
        "fiction.env:TextWorldEnv",
        {"path": name} if is_path else {"challenge": challenge, "level": level},
        f"The game {name} of TextWorld, in a process of its own.",
        reference_policy="gem_bridges.fiction.env:TextWorldPlanPolicy",
        reference_sees="state",
    )


def resolve_jericho(env_id: str) -> EnvSpec:
    """Return the spec of ``jericho:PATH``, a story file."""
    path = env_id.removeprefix("jericho:")
    about = f"The story file {path}, played by Jericho in a process of its own."
    return _spec(env_id, "fiction.env:JerichoEnv", {"path": path}, about)


def resolve_nemo_gym(env_id: str) -> EnvSpec:
    """Return the spec of ``nemo_gym:URL``; ArgumentError if ``URL`` is no address."""
    return _served(env_id, "nemo_gym.env:NemoGymEnv", "The resources server of NeMo Gym")


def resolve_ors(env_id: str) -> EnvSpec:
    """Return the spec of ``ors:URL`` or ``ors:URL#ENVIRONMENT``; ArgumentError if ``URL`` is no address."""
    return _served(env_id, "ors.env:ORSEnv", "An environment of the ORS server", part="environment")


def resolve_skyrl(env_id: str) -> EnvSpec:
    """Return the spec of ``skyrl:NAME``; skyrl-gym is imported by a process of its own, at the first reset."""
    name = env_id.removeprefix("skyrl:")
    about = f"The environment {name} of skyrl-gym, in a process of its own."
    return _spec(env_id, "skyrl.env:SkyRLEnv", {"name": name}, about)


def resolve_verifiers(env_id: str) -> EnvSpec:
    """Return the spec of ``verifiers:PACKAGE``, a task set of verifiers 0.4 or a package of the releases before.

    The package is imported by a process of its own, when the environment is first reset.
    """
    name = env_id.removeprefix("verifiers:")
    about = f"The task set or environment package {name} of verifiers, in a process of its own."
    return _spec(env_id, "verifiers.env:VerifiersEnv", {"package": name}, about)


def _served(env_id: str, place: str, about: str, *, part: str | None = None) -> EnvSpec:
    """Return the spec of an environment at an address.

    Args:
        env_id: ``SCHEME:URL``, or ``SCHEME:URL#PART`` where there is a part.
        place: of its class.
        about: what is at the address.
        part: the argument of the class that takes what stands behind the address.
    """
    address, kwargs = env_id.partition(":")[2], {}
    if part is not None:
        address, _, value = address.partition("#")
        kwargs = {part: value} if value else {}
    url = base_address(env_id, address)
    return _spec(env_id, place, {"url": url, **kwargs}, f"{about} at {url}.")


def _spec(env_id: str, place: str, kwargs: dict[str, Any], about: str, **more: Any) -> EnvSpec:
    return EnvSpec(env_id, f"gem_bridges.{place}", kwargs, description=about, **more)
