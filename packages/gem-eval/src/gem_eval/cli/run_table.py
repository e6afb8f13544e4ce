"""Summaries of runs as tables for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gem_cli.output import Table, print_prose
from gem_eval.cli.figure_text import mean_text, one_line, per_cent, share_text, short_number
from gem_rollout.trajectory.outcome import bounds_text, counted_text

if TYPE_CHECKING:
    from gem_eval.statistics.estimates import Estimate
    from gem_eval.statistics.run_summary import Distribution, EnvironmentSummary, RunSummary

__all__ = ["print_run_summary", "print_runs_side_by_side", "side_by_side_tables", "summary_lines", "summary_tables"]


_SHOWN_REASONS, _LONGEST_REASON = 10, 60  # servers and wrappers may invent any number of reasons, of any length

_LONGEST_NAME = 12
"""Characters of a run's name that leave room for the figures in 80 columns."""


_SHORT_NAMES = {
    "malformed turns": "malformed",
    "cut by token limit": "cut",
    "empty after reasoning": "empty",
    "context full": "context",
    "unreadable answers": "unreadable",
    "distinct answers": "distinct",
}
"""Parts of an :class:`AnswerHealth`, and what they are called where an environment is a row."""


def print_run_summary(summary: RunSummary) -> None:
    """Print the figures of one run, how its episodes ended and failed, its price, and all notes."""
    print_prose(_heading(summary), "bold")
    for table in summary_tables(summary):
        table.show()
    for line, style in summary_lines(summary):
        print_prose(line, style)


def summary_tables(summary: RunSummary) -> list[Table]:
    """Return the figures of one run as tables."""
    if len(summary.environments) == 1:
        return [_environment_table(summary.environments[0])]
    makers = (_results_table, _answers_table, _attempts_table, _scores_table, _effort_table, _serving_table)
    return [table for table in (make(summary) for make in makers) if table.rows]


def summary_lines(summary: RunSummary) -> Iterator[tuple[str, str]]:
    """Yield how episodes ended and failed, their price, hints and notes, each with a style for a terminal."""
    stops = _merged(item.stop_reasons for item in summary.environments)
    if stops:
        yield f"ended: {_counts(stops)}", ""
    failures = _merged(
        {f"{failure.source}/{failure.kind}": failure.count for failure in item.failures}
        for item in summary.environments
    )
    if failures:
        yield f"failed: {_counts(failures)}", "red"
    costs = [item.cost for item in summary.environments if item.cost is not None]
    if costs:
        yield f"cost: {sum(costs):.4g}", ""
    for hint in summary.hints:
        yield f"hint: {hint}", "yellow"
    for note in _notes(summary):
        yield f"note: {note}", "dim"


def print_runs_side_by_side(summaries: Sequence[RunSummary], names: Sequence[str]) -> None:
    """Print several runs, environment by environment. Numbers stand for names that would not fit into the tables."""
    names = list(map(one_line, names))
    if max(map(len, names), default=0) > _LONGEST_NAME:
        for number, (name, summary) in enumerate(zip(names, summaries, strict=True), start=1):
            print_prose(f"{number}  {name}{f', agent {one_line(summary.agent)}' if summary.agent else ''}")
        print_prose()
        names = [str(number) for number in range(1, len(names) + 1)]
    for table in side_by_side_tables(summaries, names):
        table.show()
    for name, summary in zip(names, summaries, strict=True):
        for hint in summary.hints:
            print_prose(f"hint: {name}: {hint}", "yellow")
        for note in _notes(summary):
            print_prose(f"note: {name}: {note}", "dim")


def side_by_side_tables(summaries: Sequence[RunSummary], names: Sequence[str]) -> Iterator[Table]:
    """Yield a table for each environment, with a row for each run that played it."""
    columns = ("episodes", "failed", "mean return", "success", "of", "turns")
    for env in dict.fromkeys(item.env for summary in summaries for item in summary.environments):
        table = Table(("run", *columns), right=columns, title=one_line(env))
        for name, summary in zip(names, summaries, strict=True):
            item = next((item for item in summary.environments if item.env == env), None)
            if item is not None:
                table.add_row(
                    name,
                    _progress(item.episodes, item.planned),
                    _blank_zero(item.failed),
                    mean_text(item.mean_return),
                    share_text(item.success),
                    _counted_success(item),
                    _mean(item.turns),
                )
        yield table


def _heading(summary: RunSummary) -> str:
    parts = [one_line(part) for part in (summary.name, summary.agent) if part]
    played = _progress(summary.episodes, summary.planned).replace("/", " of ")
    parts.append(f"{played} episodes")
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    return " · ".join(parts)


def _environment_table(item: EnvironmentSummary) -> Table:
    """Return the figures of one environment, one a line."""
    table = Table(("", one_line(item.env)))
    equal = item.episodes == item.groups * item.group_size
    sizes = f" × {item.group_size}" if equal else f" with up to {item.group_size} episodes"
    seeds = f": {item.groups} seeds{sizes}" if item.group_size > 1 else ""
    lines = {
        "episodes": f"{_progress(item.episodes, item.planned)}{seeds}",
        "mean return": mean_text(item.mean_return),
        "success": _success(item),
        **{
            f"{name}{k}": _share_of_seeds(estimate, bounds.get(k), item.success_unknown)
            for name, estimates, bounds in (
                ("pass@", item.pass_at_k, item.pass_at_k_bounds),
                ("pass^", item.pass_all_k, item.pass_all_k_bounds),
            )
            for k, estimate in estimates.items()
            if k > 1
        },
        **{one_line(name): mean_text(score) for name, score in item.scores.items()},
        "turns": _spread(item.turns),
        **_answers(item),
        "prompt tokens": _spread(item.prompt_tokens),
        "completion tokens": _spread(item.completion_tokens),
        "prefix cache hits": _cache_hits(item),
        "exact tokens": _exact_tokens(item),
        "first token": _first_token(item),
        "tool calls": _spread(item.tool_calls) if item.tool_calls is not None and item.tool_calls.total else "",
        "seconds": _spread(item.seconds),
        "agent's share of time": _agent_share(item),
    }
    for name, text in lines.items():
        if text:
            table.add_row(name, text)
    return table


def _results_table(summary: RunSummary) -> Table:
    columns = ("episodes", "mean return", "success", "of")
    table = Table(("environment", *columns), right=columns)
    for item in summary.environments:
        table.add_row(
            one_line(item.env),
            _progress(item.episodes, item.planned),
            mean_text(item.mean_return),
            share_text(item.success),
            _counted_success(item),
        )
    if summary.overall is not None:
        figures = (str(summary.episodes), "", share_text(summary.overall), summary.together.counted)
        table.add_row("all, equal weights", *figures)
    return table


def _answers_table(summary: RunSummary) -> Table:
    """Return a row for each environment and a column for each fault that any of them has."""
    parts = {item.env: {name: (count, of) for name, count, of in _parts(item)} for item in summary.environments}
    columns = [name for name in _SHORT_NAMES if any(name in found for found in parts.values())]
    heads = tuple(_SHORT_NAMES[name] for name in columns)
    table = Table(("answers", *heads), right=heads)
    for env, found in parts.items():
        if found and columns:
            table.add_row(one_line(env), *("{}/{}".format(*found[name]) if name in found else "" for name in columns))
    return table


def _attempts_table(summary: RunSummary) -> Table:
    bounded = any(item.pass_at_k_bounds for item in summary.environments)
    columns = ("k", "pass@k", *(("bounds",) if bounded else ()), "pass^k", *(("bounds",) if bounded else ()), "seeds")
    table = Table(("environment", *columns), right=columns)
    for item in summary.environments:
        for k in item.pass_at_k:
            if k > 1:  # both are the success rate for one attempt
                cells = []
                for estimate, bounds in (
                    (item.pass_at_k[k], item.pass_at_k_bounds.get(k)),
                    (item.pass_all_k[k], item.pass_all_k_bounds.get(k)),
                ):
                    cells += [share_text(estimate), *([bounds_text(bounds) if bounds else ""] if bounded else [])]
                table.add_row(one_line(item.env), str(k), *cells, str(item.pass_at_k[k].groups))
    return table


def _scores_table(summary: RunSummary) -> Table:
    table = Table(("environment", "reward", "mean"), right=("mean",))
    for item in summary.environments:
        for name, score in item.scores.items():
            table.add_row(one_line(item.env), one_line(name), mean_text(score))
    return table


def _effort_table(summary: RunSummary) -> Table:
    columns = ("turns (p95)", "tokens in", "out", "tools", "seconds", "agent")
    table = Table(("an episode takes", *columns), right=columns)
    for item in summary.environments:
        if item.turns is not None:
            table.add_row(
                one_line(item.env),
                f"{short_number(item.turns.mean, digits=3)} ({item.turns.p95:.0f})",
                _mean(item.prompt_tokens),
                _mean(item.completion_tokens),
                _mean(item.tool_calls) if item.tool_calls is not None and item.tool_calls.total else "",
                _mean(item.seconds),
                _agent_share(item),
            )
    return table


def _serving_table(summary: RunSummary) -> Table:
    """Return a row for each environment on what its model's server said of the calls, where any said something."""
    columns = ("cache hits", "told by", "first token", "p95", "streamed")
    table = Table(("model calls", *columns), right=columns)
    told = any(item.cache is not None or item.first_token is not None for item in summary.environments)
    for item in summary.environments if told else ():
        hits, first = item.cache, item.first_token
        table.add_row(
            one_line(item.env),
            "unknown" if hits is None else f"{per_cent(hits.rate)} %",
            f"{0 if hits is None else hits.calls}/{item.calls}",
            "unknown" if first is None else _seconds(first.p50),
            "" if first is None else _seconds(first.p95),
            f"{0 if first is None else first.count}/{item.calls}",
        )
    return table


def _cache_hits(item: EnvironmentSummary) -> str:
    """Return the hit rate with its denominators; empty where no model was called."""
    if item.cache is None:
        return f"unknown (0 of {item.calls} calls)" if item.calls else ""
    hits = item.cache
    return f"{per_cent(hits.rate)} % of {hits.prompt_tokens:,} prompt tokens ({hits.calls} of {item.calls} calls)"


def _exact_tokens(item: EnvironmentSummary) -> str:
    """Return the share of calls that continue recorded ids; empty where none has ids."""
    if not item.token_calls:
        return ""
    share = f"{per_cent(item.exact_calls / item.token_calls)} % of {item.token_calls} calls with ids"
    others = f"; {item.calls - item.token_calls} have none" if item.calls > item.token_calls else ""
    return f"{share} continue the ids before them{others}"


def _first_token(item: EnvironmentSummary) -> str:
    """Return median and p95 of the time to the first token; empty where no model was called."""
    if item.first_token is None:
        return "unknown (no call was streamed)" if item.calls else ""
    first = item.first_token
    return f"p50 {_seconds(first.p50)}, p95 {_seconds(first.p95)} ({first.count} of {item.calls} calls)"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _notes(summary: RunSummary) -> list[str]:
    """Return the notes of a run, each once; one that does not hold for every environment says for how many."""
    of_environments: Counter[str] = Counter()
    for item in summary.environments:
        of_environments.update(dict.fromkeys(_environment_notes(item), 1))
    total = len(summary.environments)
    notes = list(summary.notes)
    for note, count in of_environments.items():
        notes.append(note if count == total else f"{note} ({count} of {total} environments)")
    return [one_line(note) for note in notes]


def _environment_notes(item: EnvironmentSummary) -> Iterable[str]:
    yield from item.notes
    estimates = {"mean return": item.mean_return, "success": item.success}
    estimates |= {f"pass@{k}": estimate for k, estimate in item.pass_at_k.items() if k > 1}
    estimates |= {f"pass^{k}": estimate for k, estimate in item.pass_all_k.items() if k > 1}
    names: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for note in estimate.notes if estimate is not None else ():
            names.setdefault(note, []).append(name)
    for note, where in names.items():
        yield f"{', '.join(where)}: {note}"


def _merged(counts: Iterable[dict[str, int]]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for count in counts:
        merged.update(count)
    return merged


def _counts(counts: Counter[str]) -> str:
    listed = [f"{count} {one_line(name)[:_LONGEST_REASON]}" for name, count in counts.most_common(_SHOWN_REASONS)]
    others = sum(counts.values()) - sum(count for _, count in counts.most_common(_SHOWN_REASONS))
    return ", ".join([*listed, f"{others} others"] if others else listed)


def _progress(done: int, planned: int | None) -> str:
    # A run of a trainer, which records some of its episodes, has planned none.
    return f"{done}/{planned}" if planned and planned != done else str(done)


def _success(item: EnvironmentSummary) -> str:
    if item.success is None:
        return f"unknown for {item.success_unknown} episodes" if item.success_unknown else ""
    return f"{share_text(item.success)}, {_counted_success(item)}"


def _counted_success(item: EnvironmentSummary) -> str:
    """Return the successes, the episodes that they were counted over, and those whose outcome is unknown."""
    return "" if item.success is None else counted_text(item.success_count, item.success.episodes, item.success_unknown)


def _share_of_seeds(estimate: Estimate, bounds: tuple[float, float] | None, unknown: int) -> str:
    seeds = f"{share_text(estimate)}, {estimate.groups} seeds"
    return seeds if bounds is None else f"{seeds} + {unknown} unknown: {bounds_text(bounds)}"


def _answers(item: EnvironmentSummary) -> dict[str, str]:
    """Return the lines on unreadable, cut, empty and equal answers, those with a count of 0 left out."""
    return {name: f"{count} of {of} ({per_cent(count / of)} %)" for name, count, of in _parts(item)}


def _parts(item: EnvironmentSummary) -> Iterable[tuple[str, int, int]]:
    return item.answers.parts() if item.answers is not None else ()


def _blank_zero(count: int) -> str:
    return str(count) if count else ""


def _agent_share(item: EnvironmentSummary) -> str:
    """Return the agent's part of the time in which the agent or the environment was busy."""
    busy = item.act_seconds + item.step_seconds
    return f"{100 * item.act_seconds / busy:.0f} %" if busy > 0 else ""


def _spread(distribution: Distribution | None) -> str:
    if distribution is None:
        return ""
    return f"{_mean(distribution)} (p50 {_observed(distribution.p50)}, p95 {_observed(distribution.p95)})"


def _observed(value: float) -> str:
    """Return a value that occurred, which is whole where it is a count."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1000 else short_number(value, digits=3)


def _mean(distribution: Distribution | None) -> str:
    return "" if distribution is None else short_number(distribution.mean, digits=3)
