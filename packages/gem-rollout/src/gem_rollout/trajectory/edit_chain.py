"""Sequences of values of which each is held as an edit of the one before: :class:`EditChain`.

A :class:`Track` has two of them, which a :class:`TrackRecorder` makes value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gem_rollout.trajectory.edits import Edit, action_text, apply_edit
from gem_rollout.trajectory.json_values import json_value
from gem_rollout.trajectory.list_edits import Items, list_edit
from gem_rollout.trajectory.text_edits import text_edit
from gem_rollout.trajectory.token_edits import packed, token_edit

__all__ = ["EditChain", "Track", "TrackRecorder", "latest_observation", "own_copy"]


_NO_PROMPT: Edit = {"value": None}
"""One for all turns: nobody changes an edit."""


def own_copy(action: Any) -> Any:
    """Return an action that nobody else can change; edits refer to it."""
    return action if isinstance(action, str) else json_value(action)


class EditChain:
    """Values held as edits. Reading them in order rebuilds each from the one before."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self.actions: list[Any] = []
        """For each value, the action that led to it; None for the first."""
        self._latest: tuple[int, Any] | None = None
        """The index of a value that was read or added, and the value. Always replaced as a whole, so that threads can
        share the chain."""

    def append(self, edit: Edit, action: Any, value: Any = None) -> None:
        """Add an edit, and the action that led to its value; where the value is known, the next read costs nothing."""
        self.edits.append(edit)
        self.actions.append(action)
        if value is not None:
            self._latest = (len(self.edits) - 1, value)

    def replace_last(self, edit: Edit, value: Any) -> None:
        """Replace the last value by another one that the same action led to."""
        self.edits[-1] = edit
        self._latest = (len(self.edits) - 1, value)

    def forget(self) -> None:
        """Keep only the edits in memory."""
        self._latest = None

    def value(self, index: int) -> Any:
        """Return a value. A list is a new one each time, and shares its items with other values.

        Raises:
            TrajectoryError: if the chain comes from a broken file.
        """
        value = self._value(index)
        return list(value) if type(value) is list else value

    def _value(self, index: int) -> Any:
        edits, latest = self.edits, self._latest
        start, value = index, None
        while "value" not in edits[start] and start > 0:
            if latest is not None and latest[0] == start:
                value = latest[1]
                break
            start -= 1
        else:
            value = apply_edit(edits[start], None, None)
        for position in range(start + 1, index + 1):
            value = apply_edit(edits[position], value, self.actions[position])
        self._latest = (index, value)
        return value


class Track:
    """What one agent was shown in an episode: its observations, the last of which it did not answer, and its prompts.

    In an environment with one agent, the key of its track is None.
    """

    def __init__(self) -> None:
        self.observations = EditChain()
        self.prompts = EditChain()

    @property
    def latest(self) -> Any:
        """The last observation; None if there is none."""
        return self.observations.value(len(self.observations.edits) - 1) if self.observations.edits else None


def latest_observation(tracks: dict[str | None, Track]) -> Any:
    """Return the last observation of an episode; a dict by agent if there are several agents."""
    if None in tracks:
        return tracks[None].latest
    return {agent: track.latest for agent, track in tracks.items()}


class TrackRecorder:
    """Records a track: ``observe``, ``act``, ``observe`` … until the last ``observe``.

    An observation that follows another one without an action takes its place.
    """

    def __init__(self) -> None:
        self.track = Track()
        self._answered: Any = None
        """The observation that the last action answered; an ``Items`` if it is a list."""
        self._latest: Any = None
        self._action: Any = None
        self._acted = True
        self._prompt: Sequence[int] = ()
        self._sampled: list[int] | None = None

    def observe(self, observation: Any) -> None:
        """Record an observation.

        Raises:
            TrajectoryError: if JSON cannot hold it.
        """
        before, action = self._answered, self._action
        edit: Edit
        value: Any
        latest: Any
        if isinstance(observation, str):
            value = latest = str.__str__(observation)
            pieces = text_edit(before, value, action_text(action)) if isinstance(before, str) else None
            edit = {"value": value} if pieces is None else {"text": pieces}
        elif isinstance(observation, list):
            earlier = before if isinstance(before, Items) else Items([], [], [])
            edit, latest = list_edit(observation, earlier, action, "the observation")
            value = latest.plain
        else:
            value = latest = json_value(observation, "the observation")
            edit = {"value": value}
        if self._acted:
            self.track.observations.append(edit, action, value)
        else:
            self.track.observations.replace_last(edit, value)
        self._latest, self._acted = latest, False

    def observe_again(self) -> None:
        """Record the last observation once more, if an action has followed it."""
        if self._acted and self.track.observations.edits:
            self.observe(self._latest.plain if isinstance(self._latest, Items) else self._latest)

    def act(self, action: Any, prompt: list[int] | None = None, sampled: list[int] | None = None) -> int:
        """Record an action and return the index of the observation that it answers.

        Args:
            action: the action, as a JSON value.
            prompt: the token ids of the prompt, if known.
            sampled: the token ids of the action, if known.

        Raises:
            TrajectoryError: if an id of the prompt is no int.
        """
        prompts = self.track.prompts
        ids: Sequence[int] = ()
        if prompt is None:
            prompts.append(_NO_PROMPT, self._sampled)
        else:
            if type(prompt) is not list:
                prompt = prompt.tolist() if hasattr(prompt, "tolist") else list(prompt)
            ids = packed(prompt)
            prompts.append(token_edit(ids, self._prompt, packed(self._sampled or ())), self._sampled)
        self._prompt, self._sampled = ids, sampled and list(sampled)
        self._answered, self._action, self._acted = self._latest, own_copy(action), True
        return len(prompts.edits) - 1
