"""Fleets by their address, as an argument ``engine=`` or a variable of the environment names them."""

from __future__ import annotations

from gem_terminal.engines import Engine, is_engine_name, new_engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal_remote.fleet import FleetEngine

__all__ = ["fleet_at"]


def fleet_at(address: str) -> FleetEngine:
    """Return the fleet of ``fleet:PLACE,PLACE…``.

    A place is the name of an engine, the address of one that a package announces (``wss://one:7070``), or else that of
    a Docker engine (``tcp://two:2375``).

    Raises:
        ArgumentError: if there is no place.
    """
    return FleetEngine([_member(place.strip()) for place in address.partition(":")[2].split(",") if place.strip()])


def _member(place: str) -> Engine:
    return new_engine(place) if place != "auto" and is_engine_name(place) else DockerEngine(place)
