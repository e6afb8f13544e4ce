"""``gem trajectories``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from gem.counts import counted
from gem.errors import ArgumentError
from gem_cli.output import json_option, print_json, print_prose
from gem_rollout.lineages.certificate import TokenCertificate, certify
from gem_rollout.trajectory import read_trajectories

__all__ = ["trajectories_command"]

_EPISODES = "episodes.jsonl"

_MOST_SHOWN = 20
"""Faults that are printed; ``--json`` has all."""


@click.group("trajectories")
def trajectories_command() -> None:
    """Work with recorded episodes.

    \b
    Example:
      gem trajectories verify runs/demo.jsonl
    """


@trajectories_command.command("verify")
@click.argument("run", type=click.Path(exists=True))
@json_option
def verify_command(run: str, as_json: bool) -> None:
    """Check what recorded episodes prove about their tokens.

    RUN is the folder of a run, or a file of episodes. Of each call of a program behind a gateway: the ids of the
    prompt are those that the model's engine took, the sampled ids are those that it returned, and the masks of a
    trainer's rows cover exactly these. What cannot be proved is counted, with its reason. The exit code is 1 if
    something cannot be true.

    \b
    Examples:
      gem trajectories verify runs/2026-11-29
      gem trajectories verify runs/demo.jsonl --json
    """
    path = Path(run) / _EPISODES if Path(run).is_dir() else Path(run)
    if not path.exists():
        raise ArgumentError(f"{run} holds no {_EPISODES}; name the folder of a run, or a file of recorded episodes")
    total, episodes = TokenCertificate(), 0
    for number, trajectory in enumerate(read_trajectories(path)):
        episodes += 1
        total.add(certify(trajectory), f"episode {number}")
    if not episodes:
        raise ArgumentError(f"{path} holds no recorded episodes; record some with: gem rollout")
    if as_json:
        print_json(_as_json(total, episodes))
    else:
        print_prose(_text(total, episodes))
    if not total.holds:
        sys.exit(1)


def _as_json(found: TokenCertificate, episodes: int) -> dict[str, Any]:
    return {"episodes": episodes, "holds": found.holds, **vars(found), "open": dict(found.open)}


def _text(found: TokenCertificate, episodes: int) -> str:
    lines = [
        f"{counted(episodes, 'episode')}, {counted(found.calls, 'call')} to the model",
        f"prompts that are what the engine took: {found.prompts_proved} of {found.calls}",
        f"answers that are what it sampled: {found.answers_proved} of {found.calls}",
        f"prompts that continue an earlier one id by id: {found.continued}",
    ]
    if found.rows:
        lines.append(
            f"rows for a trainer: {found.rows}, with {counted(found.sampled_tokens, 'sampled token')}, each once"
        )
    lines += [f"not proved: {count} × {reason}" for reason, count in Counter(found.open).most_common()]
    if found.holds:
        lines.append("Nothing contradicts the record.")
    else:
        lines += [f"WRONG: {fault}" for fault in found.faults[:_MOST_SHOWN]]
        if len(found.faults) > _MOST_SHOWN:
            lines.append(f"and {len(found.faults) - _MOST_SHOWN} more; --json lists all")
    return "\n".join(lines)
