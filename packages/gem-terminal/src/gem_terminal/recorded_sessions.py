"""Recorded trajectories as recordings of terminals: :func:`asciicast_of`."""

from __future__ import annotations

from typing import Any

from gem.errors import ArgumentError
from gem.text import action_text
from gem_rollout.trajectory import Trajectory, Transition
from gem_terminal.actions import Finish, MalformedAction, SendKeys, TerminalAction, parse_actions
from gem_terminal.asciicast import Asciicast
from gem_terminal.recording import shown_command

__all__ = ["asciicast_of"]

_LONGEST_TITLE = 200


def asciicast_of(trajectory: Trajectory) -> str:
    """Return an episode as a recording in the format asciicast, version 2.

    It is made of what the agent was shown, so a command's output appears when the command ends, and of interactive
    programs there is the screen after each action. ``TerminalEnv(recordings=…)`` records what happens in between.

    Raises:
        ArgumentError: if several agents acted; pass ``trajectory.for_agent(name)`` instead.
    """
    if len({turn.agent for turn in trajectory.transitions}) > 1:
        raise ArgumentError(f"a recording has one agent, and here {trajectory.agents} acted; use for_agent(name)")
    task = trajectory.reset_info.get("task") or (trajectory.spec.id if trajectory.spec else "episode")
    cast = Asciicast(str(task)[:_LONGEST_TITLE], trajectory.started_at)
    at = 0.0
    for number, turn in enumerate(trajectory.transitions):
        begun = at + (turn.act_seconds or 0.0)
        at = begun + (turn.step_seconds or 0.0)
        later = trajectory.transitions[number + 1 :]
        _show(cast, turn, later[0].observation if later else trajectory.final_observation, begun, at)
    cast.marker(at, f"return {trajectory.episode_return:g}")
    return cast.text()


def _show(cast: Asciicast, turn: Transition, after: Any, begun: float, ended: float) -> None:
    asked = parse_actions(turn.action)
    results = turn.info.get("tool_results")
    texts = [item.get("text") for item in results if isinstance(item, dict)] if isinstance(results, list) else []
    if len(texts) != len(asked):
        texts = [action_text({"content": after[-1].get("content")}) if _are_messages(after) else after] + [""] * 15
    for one, text in zip(asked, texts, strict=False):
        action, shown = one.action, text if isinstance(text, str) else ""
        if isinstance(action, SendKeys):
            cast.marker(begun, "keys " + " ".join(action.keys))
            cast.keys(begun, "".join(action.keys).encode(errors="replace"), "")
            cast.screen(ended, shown)
            continue
        command = _command(action, turn.action)
        cast.marker(begun, command)
        cast.command(begun, command)
        cast.note(ended, shown)


def _are_messages(observation: Any) -> bool:
    return isinstance(observation, list) and bool(observation) and isinstance(observation[-1], dict)


def _command(action: TerminalAction, said: Any) -> str:
    if isinstance(action, Finish):
        return "# finish"
    if isinstance(action, (SendKeys, MalformedAction)):
        return f"# {(action_text(said) or '')[:500]}"
    return shown_command(action)
