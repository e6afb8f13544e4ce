"""Environments about which ``environments.toml`` does not tell the truth; the lie is there, if not here."""

from __future__ import annotations

import socket
import subprocess
from contextlib import suppress
from typing import Any

from gem.core import Info
from planted_envs.healthy import Circles, Product, Sums


class ForeignId(Sums):
    """Its id lies in a namespace that the package does not claim."""


class NoSuchPolicy(Sums):
    """Its reference policy does not exist."""


class PolicyWithoutAct(Sums):
    """Its reference policy has no method act."""


class Answerer:
    """No policy."""

    def reset(self, observation: Any, info: Info) -> None: ...


class NoEnvironment:
    """Its entry point names a class that is no environment."""


class SaysSingle(Sums):
    """Its manifest calls it single-turn, and it has many turns."""


class SaysMulti(Product):
    """Its manifest calls it multi-turn, and every episode has one turn."""


class SaysText(Circles):
    """Its manifest declares text alone, and it shows pictures."""


class SaysImage(Sums):
    """Its manifest declares pictures, and it shows none."""


class Connects(Sums):
    """It connects to another machine, and its manifest requires no network."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection, suppress(OSError):
            connection.connect(("192.0.2.1", 9))  # an address for documentation (RFC 5737), to which nothing is sent
        return super().reset(seed=seed, options=options)


class LooksUpHost(Sums):
    """It looks up the address of another machine, and its manifest requires no network."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed == 1:
            with suppress(OSError):  # as a number it is none, so that nobody is asked
                socket.getaddrinfo("search.invalid", 443, flags=socket.AI_NUMERICHOST)
        return super().reset(seed=seed, options=options)


class RunsDocker(Sums):
    """It runs Docker, and its manifest does not require it."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed == 1:
            with suppress(OSError):
                subprocess.run(["docker", "version"], capture_output=True, check=False)
        return super().reset(seed=seed, options=options)
