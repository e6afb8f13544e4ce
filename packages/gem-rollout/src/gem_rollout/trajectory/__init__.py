"""Recorded episodes: what they hold, how they are recorded, and their files.

- ``transition.py``, ``record.py``, ``outcome.py``: a turn, an episode, what became of it
- ``builder.py``, ``recording.py``: recording while an episode is played, by a loop or by a wrapper
- ``edits.py``: values as edits of earlier values; ``text_edits.py``, ``list_edits.py``, ``token_edits.py`` and
  ``common_ranges.py`` find them; ``edit_chain.py``: sequences of them
- ``turns.py``, ``json_values.py``, ``encoding.py``: turns as JSON values, any value as a JSON value, JSON as bytes
- ``files.py``, ``columns.py``: JSON lines; ``datasets`` and Parquet
"""

from __future__ import annotations

from gem_rollout.trajectory.builder import TrajectoryBuilder
from gem_rollout.trajectory.columns import to_dataset
from gem_rollout.trajectory.files import TrajectoryWriter, read_trajectories
from gem_rollout.trajectory.outcome import OUTCOMES, Outcome
from gem_rollout.trajectory.record import SCHEMA, Trajectory
from gem_rollout.trajectory.transition import EpisodeKey, Failure, Transition

__all__ = [
    "OUTCOMES",
    "SCHEMA",
    "EpisodeKey",
    "Failure",
    "Outcome",
    "Trajectory",
    "TrajectoryBuilder",
    "TrajectoryWriter",
    "Transition",
    "read_trajectories",
    "to_dataset",
]
