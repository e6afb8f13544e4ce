"""``gem info``."""

from __future__ import annotations

import inspect
from typing import Any

import click

from gem.env_spec import EnvSpec
from gem_cli.completers import complete_ids
from gem_cli.output import as_text, json_option, print_json, print_prose

__all__ = ["info_command"]


@click.command("info")
@click.argument("env_id", metavar="ID", shell_complete=complete_ids)
@click.option("--seed", default=0, show_default=True, help="Seed of the example observation.")
@json_option
def info_command(env_id: str, seed: int, as_json: bool) -> None:
    """Show an environment.

    Its package, arguments, rewards, rules and first observation.

    \b
    Example:
      gem info game:Sudoku-v0-easy
    """
    from gem.entry_points import load
    from gem.registry import make, spec

    found = spec(env_id)
    with make(found) as env:
        observation, _ = env.reset(seed=seed)
    cls = load(found.entry_point)
    if as_json:
        print_json({**found.to_dict(), "arguments": _arguments(cls, found), "example_observation": observation})
        return
    print_prose(f"{found.id}  ", style="bold", end="")
    print_prose(f"{found.distribution or 'this process'} {found.version or ''}")
    print_prose(found.description)
    print_prose()
    for name, value in _facts(found).items():
        print_prose(f"{name:<18}", style="dim", end="")
        print_prose(value, indent=18)
    print_prose()
    if cls.__doc__:
        print_prose(inspect.cleandoc(cls.__doc__))
        print_prose()
    print_prose("First observation ", style="bold", end="")
    print_prose(f"(seed {seed})", style="dim")
    print_prose(as_text(observation))
    print_prose()
    print_prose(f"Try it: gem play {found.id}", style="dim")


def _facts(spec: EnvSpec) -> dict[str, str]:
    facts = {
        "arguments": ", ".join(f"{name}={value!r}" for name, value in spec.kwargs.items()) or "defaults",
        "turns": spec.turns,
        "modality": ", ".join(spec.modality),
        "reward range": "not declared"
        if spec.reward_range is None
        else f"{spec.reward_range[0]} … {spec.reward_range[1]}",
        "reference policy": spec.reference_policy or "none",
        "tags": ", ".join(spec.tags) or "none",
        "needs": ", ".join(spec.requires) or "nothing",
        "entry point": str(spec.entry_point),
    }
    if spec.reference_policy is not None:
        reached = spec.reference_return if spec.reference_return is not None else (spec.reward_range or (0, None))[1]
        facts["reference policy"] += f" (sees the {spec.reference_sees}, mean return {reached})"
    return facts


def _arguments(cls: Any, spec: EnvSpec) -> dict[str, Any]:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {
        p.name: {
            "type": None if p.annotation is p.empty else str(p.annotation),
            "default": None if p.default is p.empty else p.default,
            "value": spec.kwargs.get(p.name, None if p.default is p.empty else p.default),
        }
        for p in parameters
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
