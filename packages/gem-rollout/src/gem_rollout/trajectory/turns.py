"""The turns of an episode as JSON, with what an agent was shown as edits of what it was shown before."""

from __future__ import annotations

from collections import defaultdict
from math import isfinite
from typing import Any

from gem.errors import TrajectoryError
from gem_rollout.trajectory.edit_chain import Track, TrackRecorder, own_copy
from gem_rollout.trajectory.edits import Edit, same_json
from gem_rollout.trajectory.json_values import json_value, number
from gem_rollout.trajectory.transition import Transition

__all__ = [
    "are_recorded",
    "edited_turn",
    "edited_turns",
    "log_probabilities",
    "read_turns",
    "record_anew",
    "top_log_probabilities",
    "whole_turns",
]

_OPTIONAL = (
    "token_ids",
    "tokens",
    "usage",
    "finish_reason",
    "reasoning",
    "model",
    "version",
    "version_spans",
    "metadata",
    "tool_calls",
    "act_seconds",
    "step_seconds",
    "agent",
    "step",
)
"""Fields that are left out where they are None or empty. So are the log-probabilities, which have a form of their own:
those that JSON has no number for are written as the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``."""

_LOGPROBS = ("logprobs", "top_logprobs")

_CONTAINERS = ("metadata", "tool_calls")

_SHOWN = ("observation", "prompt_token_ids")


def are_recorded(transitions: list[Transition], tracks: dict[str | None, Track]) -> bool:
    """Return whether turns are still those of which the tracks hold the observations and prompts."""
    turns: dict[str | None, int] = dict.fromkeys(tracks, 0)
    for turn in transitions:
        agent = turn.agent
        track = tracks.get(agent)
        if track is None:
            return False
        index = turns[agent]
        turns[agent] += 1
        if not turn.is_rebuilt_from(track, index):
            return False
        for chain, reply in (track.observations, turn.action), (track.prompts, turn.token_ids):
            if index + 1 < len(chain.actions) and not same_json(chain.actions[index + 1], reply):
                return False
    return all(len(track.observations.edits) in (turns[a], turns[a] + 1) for a, track in tracks.items())


def record_anew(transitions: list[Transition], final_observation: Any) -> dict[str | None, Track]:
    """Return tracks of turns that were made or changed by hand.

    Raises:
        TrajectoryError: if JSON cannot hold an observation, action or prompt.
    """
    recorders: dict[str | None, TrackRecorder] = defaultdict(TrackRecorder)
    for turn in transitions:
        recorder = recorders[turn.agent]
        recorder.observe(turn.observation)
        recorder.act(json_value(turn.action, "the action"), turn.prompt_token_ids, json_value(turn.token_ids))
    if recorders and None not in recorders and isinstance(final_observation, dict):
        for agent, observation in final_observation.items():
            recorders[agent].observe(observation)
    else:
        recorders[None].observe(final_observation)
    return {agent: recorder.track for agent, recorder in recorders.items()}


def edited_turns(
    transitions: list[Transition], tracks: dict[str | None, Track], *, checked: bool = True
) -> dict[str, Any]:
    """Return the part of an episode's record that holds its turns and the final observation.

    Args:
        transitions: the turns.
        tracks: of their observations and prompts.
        checked: convert values that JSON cannot hold as they are; otherwise the result shares them with the turns.

    Raises:
        TrajectoryError: if JSON cannot hold a value.
    """
    turns: dict[str | None, int] = dict.fromkeys(tracks, 0)
    records = []
    for turn in transitions:
        records.append(edited_turn(turn, tracks[turn.agent], turns[turn.agent], checked=checked))
        turns[turn.agent] += 1
    finals = {
        agent: track.observations.edits[-1]
        for agent, track in tracks.items()
        if len(track.observations.edits) > turns[agent]
    }
    if None in tracks:
        return {"transitions": records, **(_with_edit("final_observation", finals[None]) if finals else {})}
    return {"transitions": records, "final_observations": finals}


def edited_turn(turn: Transition, track: Track, index: int, *, checked: bool = True) -> dict[str, Any]:
    """Return the record of one turn: its place in the track of its agent, and what :func:`edited_turns` says.

    Raises:
        TrajectoryError: if JSON cannot hold a value.
    """
    record = _with_edit("observation", track.observations.edits[index])
    record.update(_fields(turn, checked))
    prompt = track.prompts.edits[index]
    if prompt.get("value", prompt) is not None:
        record.update(_with_edit("prompt_token_ids", prompt))
    return record


def whole_turns(transitions: list[Transition], final_observation: Any) -> dict[str, Any]:
    """Return the same part of a record without edits.

    Raises:
        TrajectoryError: if JSON cannot hold a value.
    """
    records = []
    for turn in transitions:
        record = {"observation": json_value(turn.observation, "the observation"), **_fields(turn)}
        prompt = turn.prompt_token_ids
        records.append(record if prompt is None else {**record, "prompt_token_ids": json_value(prompt)})
    return {"transitions": records, "final_observation": json_value(final_observation, "the observation")}


def read_turns(record: dict[str, Any]) -> tuple[list[Transition], dict[str | None, Track] | None]:
    """Take the turns and the final observation out of a record.

    Returns:
        The turns, and the tracks of the final observation; None where the record holds that itself.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: if the record is malformed.
    """
    tracks: dict[str | None, Track] = defaultdict(Track)
    transitions = []
    replies: dict[str | None, Transition] = {}
    for item in record.pop("transitions"):
        values = dict(item)
        edits = {name: values.pop(f"{name}_edit") for name in _SHOWN if f"{name}_edit" in values}
        values |= dict.fromkeys(edits)
        turn = Transition(**values)
        if not isinstance(turn.info, dict) or not isinstance(turn.reward, (int, float)):
            raise TypeError("a transition's info must be an object and its reward a number")
        _check_edits(edits)
        turn.logprobs = _probabilities_read(turn.logprobs)
        if turn.top_logprobs is not None:
            turn.top_logprobs = [
                [(token, *_probabilities_read([value])) for token, value in top] for top in turn.top_logprobs
            ]
        transitions.append(turn)
        track, before = tracks[turn.agent], replies.get(turn.agent)
        index = len(track.observations.edits)
        chains = (
            ("observation", track.observations, before and own_copy(before.action)),
            ("prompt_token_ids", track.prompts, before and own_copy(before.token_ids)),
        )
        for name, chain, reply in chains:
            chain.append(edits[name] if name in edits else {"value": getattr(turn, name)}, reply)
        turn.rebuild_from(track, index)
        replies[turn.agent] = turn
    return transitions, _read_final(record, tracks, replies)


def _read_final(
    record: dict[str, Any], tracks: dict[str | None, Track], replies: dict[str | None, Transition]
) -> dict[str | None, Track] | None:
    if "final_observations" in record:
        finals = record.pop("final_observations")
    elif "final_observation_edit" in record:
        finals = {None: record.pop("final_observation_edit")}
    elif all(agent is None for agent in tracks):
        finals = {None: {"value": record.pop("final_observation", None)}}
    else:
        return None
    _check_edits(finals)
    for agent, edit in finals.items():
        tracks[agent].observations.append(edit, own_copy(replies[agent].action) if agent in replies else None)
    return dict(tracks)


def _check_edits(edits: dict[Any, Any]) -> None:
    if not all(isinstance(edit, dict) for edit in edits.values()):
        raise TypeError("an edit must be an object")


def _with_edit(name: str, edit: Edit) -> dict[str, Any]:
    return {name: edit["value"]} if "value" in edit else {f"{name}_edit": edit}


def _fields(turn: Transition, checked: bool = True) -> dict[str, Any]:
    """Return the fields of a turn that are not edits."""
    record = {
        "action": json_value(turn.action, "the action") if checked else turn.action,
        "reward": number(turn.reward, "the reward") if checked else turn.reward,
        "terminated": bool(turn.terminated),
        "truncated": bool(turn.truncated),
        "info": json_value(turn.info, "info") if checked else turn.info,
    }
    held = vars(turn)  # where it lacks a field, that has its default, which is left out
    for name in _OPTIONAL:
        value = held.get(name)
        if value is not None and (value or name not in _CONTAINERS):
            record[name] = json_value(value, name) if checked else value
    if not checked:
        return record | {name: held[name] for name in _LOGPROBS if held.get(name) is not None}
    if turn.logprobs is not None:
        record["logprobs"] = _probabilities_written(turn.logprobs)
    if turn.top_logprobs is not None:
        record["top_logprobs"] = [
            [[token, *_probabilities_written([value])] for token, value in top]
            for top in top_log_probabilities(turn.top_logprobs)
        ]
    return record


def _probabilities_written(values: Any) -> list[Any]:
    plain = log_probabilities(values)
    try:
        if all(map(isfinite, plain)):
            return plain
    except TypeError:  # a server may have none for the first token
        pass
    return [value if value is None or isfinite(value) else _NAMES[str(value)] for value in plain]


def _probabilities_read(values: Any) -> Any:
    if values is None or str not in set(map(type, values)):
        return values
    return [float(value) if value in _NAMES.values() else value for value in values]


def log_probabilities(values: Any) -> list[Any]:
    """Return log-probabilities as a list of floats, NaN and infinities among them, and None where there is none.

    Raises:
        TrajectoryError: if they are something else.
    """
    if type(values) is list and set(map(type, values)) <= {float}:
        return values
    try:
        items = values.tolist() if hasattr(values, "tolist") else values
        return [None if item is None else float(item) for item in items]
    except (TypeError, ValueError, OverflowError) as error:
        raise TrajectoryError(f"logprobs are not a list of numbers: {error}") from None


def top_log_probabilities(values: Any) -> list[list[tuple[str, float]]]:
    """Return the most probable tokens with their log-probabilities, as :func:`log_probabilities` does.

    Raises:
        TrajectoryError: if they are something else.
    """
    try:
        return [[(str(token), log_probabilities([value])[0]) for token, value in top] for top in values]
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"top_logprobs are not lists of tokens and numbers: {error}") from None


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
