"""Trajectories as lines of a file: :class:`TrajectoryEncoder`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gem.env_spec import EnvSpec
from gem_rollout.trajectory.encoding import encoded
from gem_rollout.trajectory.record import SCHEMA, Trajectory

__all__ = ["TrajectoryEncoder"]

_MOST_SPECS = 4096


class TrajectoryEncoder:
    """Encodes trajectories as lines of JSON, each as :meth:`Trajectory.to_dict` describes it.

    Episodes of a run share their specs, so each spec is encoded once. A recorded episode consists of JSON values
    already, unless its owner has changed it since; orjson tells in nearly all cases, and where it cannot (it writes
    null for NaN), the values are looked at one by one.
    """

    def __init__(self) -> None:
        self._specs: dict[int, tuple[EnvSpec, bytes]] = {}  # by id of the spec

    def line(self, trajectory: Trajectory) -> bytes:
        """Return a trajectory as a line, with its newline.

        Raises:
            TrajectoryError: if JSON cannot hold a value.
        """
        return (self._unchecked(trajectory) or encoded(trajectory.to_dict())) + b"\n"

    def _unchecked(self, trajectory: Trajectory) -> bytes | None:
        """Return the line of an episode that JSON holds as it is; None if that is not certain."""
        dumps = _dumps()
        contents = None if dumps is None else trajectory.unchecked_contents()
        if dumps is None or contents is None:
            return None
        try:
            line = dumps(contents)
        except TypeError:  # of which orjson's own error is a subclass
            return None
        if b"null" in line:
            return None
        return b'{"schema":%d,"spec":%b,%b' % (SCHEMA, self._spec(trajectory.spec), line[1:])

    def _spec(self, spec: EnvSpec | None) -> bytes:
        if spec is None:
            return b"null"
        known = self._specs.get(id(spec))
        if known is None:
            if len(self._specs) >= _MOST_SPECS:
                self._specs.clear()
            known = self._specs[id(spec)] = (spec, encoded(spec.to_dict()))
        return known[1]


@cache
def _dumps() -> Callable[[Any], bytes] | None:
    """Return orjson's encoder, which refuses what json would refuse, as far as it can be told to."""
    try:
        import orjson
    except ImportError:
        return None
    options = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
    return lambda value: orjson.dumps(value, option=options)
