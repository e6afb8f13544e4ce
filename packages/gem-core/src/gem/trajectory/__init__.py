"""Recorded episodes: what they hold, how they are recorded, and their files.

``record.py``: :class:`Trajectory` and :class:`Transition`; ``builder.py``: recording while an episode is played;
``recording.py``: the same by a wrapper; ``files.py``: JSON lines; ``columns.py``: conversion to ``datasets`` and Parquet.
The other modules hold what an agent was shown as edits of what it was shown before (``edits.py``).
"""

from __future__ import annotations

from gem.trajectory.builder import TrajectoryBuilder
from gem.trajectory.columns import to_dataset
from gem.trajectory.files import TrajectoryWriter, read_trajectories
from gem.trajectory.record import SCHEMA, Trajectory
from gem.trajectory.transition import EpisodeKey, Failure, Transition

__all__ = [
    "SCHEMA",
    "EpisodeKey",
    "Failure",
    "Trajectory",
    "TrajectoryBuilder",
    "TrajectoryWriter",
    "Transition",
    "read_trajectories",
    "to_dataset",
]
