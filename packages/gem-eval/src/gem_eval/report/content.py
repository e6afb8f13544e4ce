"""What a report says of runs; its tables are those of ``gem results``, its figures those of ``gem view``."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from gem_cli.output import Table
from gem_eval.cli.figure_text import one_line
from gem_eval.cli.results import summary_of
from gem_eval.cli.run_table import side_by_side_tables, summary_lines, summary_tables
from gem_eval.figures.of_runs import RunRows, figures_of_runs
from gem_eval.report.parts import BulletList, Code, Heading, Illustration, Paragraph, Report, Tabular
from gem_eval.report.settings_file import settings_toml
from gem_eval.rewards.agreement import pairwise_agreement
from gem_eval.runs import EpisodeRow, RunFolder, settings_of
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.runs.names import distinct_names
from gem_eval.statistics import compare_runs, in_words

__all__ = ["report_of"]

_UNITS = (
    "Shares and means weigh each seed the same, and their intervals, in parentheses or after ±, are for 95 % and count "
    "seeds, not episodes, as independent. Behind a share stand the episodes that succeeded, those whose outcome is "
    "known, and those whose outcome is unknown, with the shares that are possible whatever these were."
)

Part = Heading | Paragraph | BulletList | Code | Tabular | Illustration


def report_of(runs: Sequence[RunFolder], title: str = "", command: str = "") -> Report:
    """Return the report on runs.

    Args:
        runs: at least one.
        title: of the report; made of the runs' names, if empty.
        command: the command that made the report, which it repeats.
    """
    names = [one_line(name) for name in distinct_names(runs)]
    rows = [run.rows() for run in runs]
    settings = dict(_settings_files(runs, names))
    parts: list[Part] = [Paragraph(_UNITS), Tabular(_runs_table(runs, names))]
    if len(runs) > 1:
        parts += _side_by_side(runs, names, rows)
    for run, name in zip(runs, names, strict=True):
        summary = summary_of(run)
        parts.append(Heading(f"Results of {name}" if len(runs) > 1 else "Results"))
        parts += [Tabular(table) for table in summary_tables(summary)]
        parts.append(BulletList(tuple(one_line(line) for line, _ in summary_lines(summary))))
    parts += _agreement(rows)
    parts += _figures(runs, names, rows)
    parts += _making(runs, names, settings, command)
    return Report(one_line(title) or f"Evaluation of {' and '.join(names)}", tuple(parts), settings)


def _runs_table(runs: Sequence[RunFolder], names: Sequence[str]) -> Table:
    table = Table(("run", "model or agent", "agent program", "begun", "gem", "environments"), title="Runs")
    for run, name in zip(runs, names, strict=True):
        config = run.config
        table.add_row(
            name,
            one_line(config.served_model or config.model or config.agent),
            one_line(config.harness or ""),
            _date(config.started_at),
            one_line(config.gem),
            ", ".join(one_line(item.label) for item in config.environments),
        )
    return table


def _date(seconds: Any) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(float(seconds), datetime.timezone.utc)
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _side_by_side(runs: Sequence[RunFolder], names: Sequence[str], rows: Sequence[list[EpisodeRow]]) -> Iterator[Part]:
    yield Heading("The runs side by side")
    for table in side_by_side_tables([summary_of(run) for run in runs], names):
        yield Tabular(table)
    if len(runs) != 2:
        return
    comparison = compare_runs(rows[0], rows[1])
    sentences = [
        f"{one_line(item.env)}: {in_words(item.result, item.metric)}"
        for item in comparison.environments
        if item.result is not None
    ]
    if comparison.overall is not None:
        sentences.append(f"All environments, equal weights: {in_words(comparison.overall, 'success')}")
    if sentences:
        yield Paragraph(f"Paired by their seeds, A being {names[0]} and B {names[1]}:")
        yield BulletList((*map(one_line, sentences), *map(one_line, comparison.notes)))


def _agreement(rows: Sequence[list[EpisodeRow]]) -> Iterator[Part]:
    columns = ("episodes", "agree", "kappa", "95 %", "rank correlation")
    table = Table(("environment", "rewards", *columns), right=columns, title="Agreement of rewards, at 0.5")
    for pair in pairwise_agreement([row for each in rows for row in each]):
        found = pair.result
        interval = "" if found.kappa_interval is None else "{:.2f} … {:.2f}".format(*found.kappa_interval)
        table.add_row(
            one_line(pair.env),
            f"{one_line(pair.one)}, {one_line(pair.other)}",
            str(found.labelled),
            "" if found.agreement is None else f"{100 * found.agreement:.1f} %",
            "" if found.kappa is None else f"{found.kappa:.2f}",
            interval,
            "" if found.correlation is None else f"{found.correlation:.2f}",
        )
    if table.rows:
        yield Heading("Rewards")
        yield Tabular(table)


def _figures(runs: Sequence[RunFolder], names: Sequence[str], rows: Sequence[list[EpisodeRow]]) -> Iterator[Part]:
    series = [
        RunRows(name, each, run.config.started_at if isinstance(run.config.started_at, int | float) else None)
        for name, each, run in zip(names, rows, runs, strict=True)
    ]
    number, env = 0, None
    for number, figure in enumerate(figures_of_runs(series), start=1):
        if number == 1:
            yield Heading("Figures")
        if figure.env != env:
            env = figure.env
            yield Heading(one_line(env), 3)
        yield Illustration(figure, number)


def _making(runs: Sequence[RunFolder], names: Sequence[str], settings: dict[str, str], command: str) -> Iterator[Part]:
    yield Heading("How this was made")
    yield Paragraph(
        "Each run has its settings in a file beside this page, without keys. These commands play the runs anew, with "
        "the versions below, and make this page of them:"
    )
    files = iter(settings)
    commands = []
    for run in runs:
        file = next(files) if _settings(run) is not None else None
        folder = shlex.quote(one_line(run.path.name))
        commands.append(
            f"gem eval --config settings/{file} --out {folder}" if file else f"# the settings are in {folder}/run.json"
        )
    yield Code("\n".join([*commands, *([command] if command else [])]))
    packages = Table(("package", *names), title="Versions")
    known = dict.fromkeys(sorted({package for run in runs for package in run.config.packages}))
    for package in known:
        packages.add_row(one_line(package), *(one_line(run.config.packages.get(package, "")) for run in runs))
    packages.add_row("Python", *(one_line(run.config.python) for run in runs))
    packages.add_row("platform", *(one_line(run.config.platform) for run in runs))
    yield Tabular(packages)
    sources = Table(("environment", "run", "SHA-256 of the source"), title="Code of the environments")
    for run, name in zip(runs, names, strict=True):
        for item in run.config.environments:
            sources.add_row(one_line(item.label), name, one_line(item.digest or "unknown"))
    yield Tabular(sources)


def _settings(run: RunFolder) -> str | None:
    try:
        return settings_toml(settings_of(run.config))
    except EvaluationConfigError:  # of a training run, which no evaluation can repeat
        return None


def _settings_files(runs: Sequence[RunFolder], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of a file for each run whose settings can be one."""
    for number, (run, name) in enumerate(zip(runs, names, strict=True), start=1):
        content = _settings(run)
        if content is not None:
            words = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "run"
            yield f"{number}-{words}.toml", content
