"""``gem validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gem_cli.completers import complete_targets
from gem_cli.output import Table, json_option, print_json, print_prose
from gem_cli.progress import progress
from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_eval.runs.validation import AgentReturns, EnvironmentValidation

__all__ = ["validate_command"]


@click.command("validate", short_help="Check that environments tell agents apart, without a model.")
@click.argument("targets", metavar="ID|NAMESPACE|PACKAGE...", nargs=-1, required=True, shell_complete=complete_targets)
@click.option("--episodes", "-n", type=click.IntRange(min=1), default=16, show_default=True, help="Of each agent.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="No agent begins a further episode of an environment after so many seconds.",
)
@click.option(
    "--step-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that a step may take.",
)
@json_option
def validate_command(
    targets: tuple[str, ...], episodes: int, seconds: float, step_timeout: float, as_json: bool
) -> None:
    """Check that environments tell agents apart, without a model.

    Plays each environment with its reference policy, with random actions and with empty ones. The reference policy must
    reach the return that the manifest declares, an agent that says nothing the floor, and both of the others less than
    the reference policy. Where an episode is one turn, no constant answer and no copy of the question may earn the
    manifest's thoughtless_share. 'gem check' tests the whole contract of an environment; this tests only what it pays.

    From a namespace or a package, environments that need something (docker, network, a data set) are left out; name
    their ids to play them. The exit code is 0 only if nothing is wrong.

    \b
    Examples:
      gem validate game:Sudoku-v0-easy
      gem validate game math
      gem validate gem-envs-reasoning --episodes 8
    """
    from gem_eval.runs.validation import environments_of, validate

    specs, left_out = environments_of(targets)
    verdicts: list[EnvironmentValidation] = []
    with progress() as bar:
        task = bar.add_task("environments", total=len(specs), note="")
        for spec in specs:
            bar.update(task, note=spec.id)
            verdicts.append(validate(spec, episodes=episodes, seconds=seconds, step_timeout=step_timeout))
            bar.advance(task)
    if as_json:
        omitted = [{"env": spec.id, "requires": list(spec.requires)} for spec in left_out]
        print_json({"environments": [verdict.to_dict() for verdict in verdicts], "left_out": omitted})
    else:
        _print(verdicts)
        if left_out:
            needs = ", ".join(sorted({need for spec in left_out for need in spec.requires or ("several agents",)}))
            line = f"left out: {len(left_out)} environments that need {needs}; name their ids to play them"
            print_prose(line, style="dim")
        wrong = sum(not verdict.valid for verdict in verdicts)
        line = f"{len(verdicts) - wrong} of {len(verdicts)} environments are valid"
        print_prose(line, style="red bold" if wrong else "bold")
    if not all(verdict.valid for verdict in verdicts):
        click.get_current_context().exit(1)


def _print(verdicts: list[EnvironmentValidation]) -> None:
    columns = ("reference", "random", "null", "thoughtless", "episodes")
    table = Table(("environment", "verdict", *columns), right=columns)
    for verdict in verdicts:
        table.add_row(
            printable(verdict.env),
            "valid" if verdict.valid else "WRONG",
            *(_mean(verdict.agents.get(agent)) for agent in ("reference", "random", "null")),
            "" if verdict.thoughtless is None else f"{verdict.thoughtless.share:.3f}",
            str(sum(item.episodes for item in verdict.agents.values())),
        )
    if table.rows:
        table.show()
    for verdict in verdicts:
        for problem in verdict.problems:
            print_prose(f"{verdict.env}: {printable(problem)}", style="red")
    notes: dict[str, int] = {}
    for verdict in verdicts:
        for note in verdict.notes:
            notes[note] = notes.get(note, 0) + 1
    for note, count in notes.items():
        print_prose(f"note: {note} ({count} of {len(verdicts)})", style="dim")


def _mean(returns: AgentReturns | None) -> str:
    return "" if returns is None or returns.mean is None else f"{returns.mean:.3f}"
