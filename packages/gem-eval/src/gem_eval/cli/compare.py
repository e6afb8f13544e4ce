"""``gem compare``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from gem_cli.output import Table, json_option, print_json, print_prose
from gem_eval.cli.factor_levels import FactorLevels

if TYPE_CHECKING:
    from gem_eval.runs import RunFolder
    from gem_eval.statistics import ComparedMeans, RunComparison

__all__ = ["compare_command"]

_FOLDER = click.Path(exists=True, file_okay=False)

_WARNINGS = {
    "digest": "the runs played different versions of its code",
    "kwargs": "the runs made it with different arguments",
    "wrappers": "the runs used different wrappers",
    "limits": "the runs had different limits",
}
"""What makes a comparison of agents doubtful, by the setting that differs."""


@click.command("compare")
@click.argument("folder_a", metavar="A", type=_FOLDER)
@click.argument("folder_b", metavar="B", type=_FOLDER)
@click.option(
    "--metric",
    metavar="NAME",
    help="success, return, turns, tool_calls, prompt_tokens, completion_tokens, seconds, cost, or the name of an "
    "applied reward.  [default: success where both runs know it, else return]",
)
@click.option(
    "--factor",
    type=click.Choice(["harness"]),
    help="Say how two agent programs compare, and refuse runs that differ in anything else.",
)
@json_option
def compare_command(
    folder_a: str, folder_b: str, metric: str | None, factor: Literal["harness"] | None, as_json: bool
) -> None:
    """Compare two runs, paired by seed.

    Prints for each environment how much better B is than A, with the 95 % interval of the difference, whether chance
    explains it, and the difference that these seeds would have shown four times out of five. Seeds that only one run
    has are left out; where fewer than two meet, the comparison is not paired.

    \b
    Examples:
      gem compare runs/before runs/after
      gem compare runs/small runs/large --metric return
      gem compare runs/codex runs/qwen-code --factor harness
      gem compare runs/before runs/after --json
    """
    from gem_eval.runs import RunFolder
    from gem_eval.statistics import compare_runs

    a, b = RunFolder.open(folder_a), RunFolder.open(folder_b)
    levels = None if factor is None else FactorLevels.of(a.config, b.config, factor)
    comparison = compare_runs(a.rows(), b.rows(), metric)
    if levels is not None:
        levels.check_pairs(comparison)
    warnings = list(_warnings(a, b))
    if as_json:
        runs = {"a": _identity(a), "b": _identity(b)}
        notes = [*comparison.notes, *warnings]
        about = {} if levels is None else {"factor": levels.to_dict(comparison)}
        print_json({**runs, **comparison.to_dict(), **about, "notes": notes})
        return
    _print(a, b, comparison, levels, warnings)


def _identity(run: RunFolder) -> dict[str, str]:
    return {"name": run.name, "folder": str(run.path), "agent": run.config.agent}


def _print(
    a: RunFolder, b: RunFolder, comparison: RunComparison, levels: FactorLevels | None, warnings: list[str]
) -> None:
    from gem_eval.cli.figure_text import one_line
    from gem_eval.runs.names import distinct_names
    from gem_eval.statistics import in_words

    words = in_words if levels is None else levels.in_words

    for letter, run, name in zip("AB", (a, b), distinct_names([a, b]), strict=True):
        agent = f", agent {one_line(run.config.agent)}" if run.config.agent and name == run.name else ""
        print_prose(f"{letter}  {one_line(name)}{agent}")
    for item in comparison.environments:
        print_prose()
        print_prose(one_line(item.env), "bold")
        if item.result is None:
            print_prose(f"No episode of one of the runs has the metric {one_line(item.metric)}.")
            continue
        _print_means(item.metric, item.result)
        print_prose(one_line(words(item.result, item.metric)))
        for note in (*item.result.notes, *item.notes):
            print_prose(f"note: {note}", "dim")
    if comparison.overall is not None:
        print_prose()
        print_prose(f"all {len(comparison.environments)} environments, equal weights", "bold")
        _print_means("success", comparison.overall)
        print_prose(one_line(words(comparison.overall, "success")))
    print_prose()
    if not comparison.environments:
        print_prose("The runs have no environment in common.", "yellow")
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            print_prose(f"only in {letter}: {', '.join(map(one_line, names))}", "yellow")
    for warning in warnings:
        print_prose(f"warning: {one_line(warning)}", "yellow")
    for note in comparison.notes:
        print_prose(f"note: {note}", "dim")


def _print_means(metric: str, result: ComparedMeans) -> None:
    from gem_eval.cli.figure_text import one_line

    scale = 100 if metric == "success" else 1
    unit = " in %" if metric == "success" else ""
    columns = ("seeds", "A", "B", "B − A", f"{100 * result.confidence:.3g} %", "p")
    table = Table((f"{one_line(metric)}{unit}", *columns), right=columns)
    digits = ".1f" if metric == "success" else ".4g"

    def number(value: float | None, sign: str = "") -> str:
        return "" if value is None else f"{scale * value:{sign}{digits}}".replace("-", "−")

    interval = "" if result.low is None else f"{number(result.low, '+')} … {number(result.high, '+')}"
    table.add_row(
        "paired" if result.paired else "unpaired",
        str(result.groups) if result.paired else f"{result.groups_a}, {result.groups_b}",
        number(result.mean_a),
        number(result.mean_b),
        number(result.difference, "+"),
        interval,
        "" if result.p_value is None else f"{result.p_value:.3f}" if result.p_value >= 0.001 else "< 0.001",
    )
    table.show()


def _warnings(a: RunFolder, b: RunFolder) -> Iterator[str]:
    """Yield what else differs between the runs than the agent."""
    from gem_eval.runs.run_differences import run_differences

    differing = dict.fromkeys((item.env, item.setting) for item in run_differences(a.config, b.config))
    for env, setting in differing:
        if setting in _WARNINGS:
            yield _WARNINGS[setting] if env is None else f"{env}: {_WARNINGS[setting]}"
    for letter, run in (("A", a), ("B", b)):
        if run.running:
            yield f"{letter} goes on; these are its figures so far"
