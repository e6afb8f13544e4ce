"""``gem rescore``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gem_cli.output import Table, json_option, print_json
from gem_cli.progress import progress
from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_eval.rewards.calibration import Calibration, LabelledScore
    from gem_eval.rewards.episode_source import EpisodeSource
    from gem_eval.rewards.rescoring import RescoreSummary
    from gem_questions.rewards import Reward

__all__ = ["rescore_command"]

_SHOWN = 10
"""Disagreements in the table."""
_REASON = 120
"""Characters of a reason in the table."""


@click.command("rescore")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True))
@click.option("--reward", "names", multiple=True, metavar="NAME", help="A reward by name; may be repeated.")
@click.option(
    "--rewards", "file", type=click.Path(exists=True, dir_okay=False), help="A JSON file with a list of them."
)
@click.option(
    "--set", "settings", multiple=True, metavar="[LABEL.]KEY=VALUE", help="An argument of the reward; JSON or text."
)
@click.option("--model", "--judge-model", "model", help="The judge, for rewards that ask a model.")
@click.option("--base-url", "--judge-url", "-u", "base_url", help="Address of the judge's server.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the judge's key.")
@click.option("--concurrency", type=click.IntRange(min=1), default=16, show_default=True, help="Episodes at once.")
@click.option("--limit", type=click.IntRange(min=1), help="Score only the first episodes.")
@click.option(
    "--labels", type=click.Path(exists=True, dir_okay=False), help="Compare with these labels: JSON lines or CSV."
)
@click.option("--threshold", type=float, default=0.5, show_default=True, help="From where on a score passes.")
@click.option("--anew", is_flag=True, help="Replace earlier scores, which are kept in scores/replaced.")
@json_option
def rescore_command(
    folder: str,
    names: tuple[str, ...],
    file: str | None,
    settings: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    concurrency: int,
    limit: int | None,
    labels: str | None,
    threshold: float,
    anew: bool,
    as_json: bool,
) -> None:
    """Grade the recorded episodes of a run anew.

    No model plays; a reward may ask a judge. DIR is a run folder, or a JSONL file of episodes. Each reward writes
    DIR/scores/LABEL.jsonl beside the episodes, which stay as they are; gem results and gem view show the scores. An
    interrupted command goes on where it stopped when it is run again.

    \b
    Examples:
      gem rescore runs/a --reward math
      gem rescore runs/a --reward exact --set extract=boxed --set normalize=case,punctuation
      gem rescore runs/a --reward math --reward qa_f1 --set qa_f1.answer_from=info:gold
      gem rescore runs/a --rewards rewards.json --model judge --base-url http://127.0.0.1:8000/v1
      gem rescore runs/a --rewards rewards.json --labels labels.csv

    \b
    --labels says how far a reward can be trusted: agreement, Cohen's kappa, its bias for long episodes, and where it
    differs. The file has the columns seed and label (0 to 1, true or false, pass or fail), and where a run needs them
    env and repetition.
    """
    import asyncio

    from gem_eval.rewards.calibration import read_labels
    from gem_eval.rewards.episode_source import open_episodes
    from gem_eval.rewards.rescoring import rescore

    rewards = _rewards(names, file, settings)
    known = None if labels is None else read_labels(labels)
    episodes, scores_folder = open_episodes(folder)
    judge = {"model": model, "base_url": base_url, "api_key_env": api_key_env}
    with progress() as bar:
        task = bar.add_task("episodes", total=None, note="")

        async def run() -> list[RescoreSummary]:
            bar.update(task, total=len(rewards) * sum(not row.failed for row in episodes.rows()[:limit]))
            return await rescore(
                episodes,
                rewards,
                scores_folder,
                run_folder=Path(folder) if Path(folder).is_dir() else None,
                judge={name: value for name, value in judge.items() if value is not None},
                concurrency=concurrency,
                limit=limit,
                anew=anew,
                on_score=lambda label, row, score: bar.update(task, advance=1, note=f"{label} {score.value:.2f}"),
            )

        try:
            summaries = asyncio.run(run())
        except KeyboardInterrupt:
            raise click.ClickException(
                "interrupted; the scores so far are kept, run the command again to go on"
            ) from None
    found = {} if known is None else _calibrations(episodes, scores_folder, summaries, known, threshold)
    if as_json:
        calibrations = {"calibration": {label: item.to_dict() for label, item in found.items()}} if found else {}
        print_json({"episodes": folder, "rewards": [summary.to_dict() for summary in summaries], **calibrations})
    else:
        _show(summaries)
        for label, item in found.items():
            _show_calibration(label, item)
    if summaries and not any(summary.readable for summary in summaries):
        raise click.ClickException("no reward could tell for any episode" if _scored(summaries) else "nothing to score")


def _calibrations(
    episodes: EpisodeSource,
    folder: Path,
    summaries: Iterable[RescoreSummary],
    labels: Mapping[tuple[str | None, int, int], float],
    threshold: float,
) -> dict[str, Calibration]:
    """Return the agreement of each reward with the labels."""
    from gem_eval.rewards.calibration import calibration, labelled_score
    from gem_eval.runs.score_files import RunScores

    beside = RunScores(folder)
    found: dict[str, list[LabelledScore]] = {summary.label: [] for summary in summaries}
    for row in episodes.rows():
        label = labels.get((row.env, row.seed, row.repetition), labels.get((None, row.seed, row.repetition)))
        scores = beside.scores_of(row) if label is not None and not row.failed else {}
        if label is None or not scores.keys() & found.keys():
            continue
        trajectory = episodes.episode(row)
        for name in scores.keys() & found.keys():
            found[name].append(replace(labelled_score(trajectory, label, scores[name]), key=row.key))
    if not any(found.values()):
        raise click.ClickException("no label belongs to a scored episode; labels need its seed, and env and repetition")
    return {name: calibration(items, threshold=threshold) for name, items in found.items()}


def _show_calibration(label: str, found: Calibration) -> None:
    table = Table((f"{printable(label)} against labels", "value", ""), right=("value",))
    lost = f"{found.unreadable} more are unreadable" if found.unreadable else ""
    rows = [
        ("labelled episodes", str(found.labelled), lost),
        ("agreement", _percent(found.agreement), f"both pass from {found.threshold:g} up"),
        ("Cohen's kappa", _number(found.kappa), _interval(found.kappa_interval)),
        ("passes, label fails", str(found.false_positive), ""),
        ("fails, label passes", str(found.false_negative), ""),
        ("score minus label", _number(found.bias, signed=True), "mean; above 0 is too generous"),
        ("rank correlation", _number(found.correlation), "of scores and labels"),
        ("bias for length", _number(found.length_bias, signed=True), "rank correlation of error and length"),
        ("bias for position", _number(found.position_bias, signed=True), "shown first minus shown second"),
    ]
    for name, value, note in rows:
        if value:
            table.add_row(name, value, note)
    table.show()
    if not found.disagreements:
        return
    columns = ("seed", "repetition", "label", "score")
    differ = Table(("environment", *columns, "reason"), right=columns, title="Disagreements, the largest first")
    for item in found.disagreements[:_SHOWN]:
        reason = printable(" ".join(item.score.reasons))[:_REASON]
        key = item.key
        differ.add_row(
            printable(key.env), str(key.seed), str(key.repetition), f"{item.label:g}", f"{item.score.value:.2f}", reason
        )
    differ.show()
    if len(found.disagreements) > _SHOWN:
        click.echo(f"{len(found.disagreements) - _SHOWN} more with --json")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _number(value: float | None, *, signed: bool = False) -> str:
    return "" if value is None else f"{value:+.2f}" if signed else f"{value:.2f}"


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"95 % interval {bounds[0]:.2f} to {bounds[1]:.2f}; 0 is chance"


def _scored(summaries: Iterable[RescoreSummary]) -> bool:
    return any(summary.episodes for summary in summaries)


def _show(summaries: Iterable[RescoreSummary]) -> None:
    columns = ("episodes", "new", "mean", "unreadable")
    table = Table(("reward", *columns, "scores"), right=columns)
    for summary in summaries:
        unreadable = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.unreadable.items()))
        mean = "" if summary.mean is None else f"{summary.mean:.3f}"
        table.add_row(summary.label, str(summary.episodes), str(summary.new), mean, unreadable, summary.path)
    table.show()


def _rewards(names: Iterable[str], file: str | None, settings: Iterable[str]) -> list[Reward]:
    """Return the rewards of the command line, with their settings."""
    from gem.plugins import names as installed
    from gem_questions.rewards import make_reward

    given: list[dict[str, Any]] = [{"name": name} for name in names]
    if file is not None:
        given.extend(_from_file(Path(file)))
    if not given:
        raise click.UsageError(f"name a reward with --reward; there are {', '.join(sorted(installed('gem_rewards')))}")
    for setting in settings:
        target, equals, text = setting.partition("=")
        if not equals or not target:
            raise click.UsageError(f"--set takes KEY=VALUE or LABEL.KEY=VALUE, got {setting!r}")
        label, dot, key = target.rpartition(".")
        chosen = [item for item in given if not dot or label in (item.get("label"), item["name"])]
        if not chosen:
            raise click.UsageError(f"--set {setting!r}: no reward is called {label!r}")
        for item in chosen:
            item[key] = _value(text)
    return [make_reward(item) for item in given]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _from_file(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path} is not JSON: {error}") from error
    items = found if isinstance(found, list) else [found]
    rewards = [{"name": item} if isinstance(item, str) else item for item in items]
    if not all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in rewards):
        raise click.UsageError(f"{path} must hold a list of rewards, each a name or an object with a 'name'")
    return rewards
