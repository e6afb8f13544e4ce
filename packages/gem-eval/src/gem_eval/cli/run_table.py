"""Summaries of runs as tables for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gem.cli.output import Table, console
from gem_eval.cli.printable import printable

if TYPE_CHECKING:
    from gem_eval.statistics.estimates import Estimate
    from gem_eval.statistics.run_summary import Distribution, EnvironmentSummary, RunSummary

__all__ = ["mean_text", "print_run_summary", "print_runs_side_by_side", "share_text"]


def print_run_summary(summary: RunSummary) -> None:
    """Print the figures of one run, how its episodes ended and failed, its price, and all notes."""
    out = console()
    out.print(_heading(summary), style="bold", markup=False, soft_wrap=True)
    if len(summary.environments) == 1:
        _print_environment(summary.environments[0])
    else:
        _print_results(summary)
        _print_attempts(summary)
        _print_scores(summary)
        _print_effort(summary)
    stops = _merged(item.stop_reasons for item in summary.environments)
    if stops:
        out.print(f"ended: {_counts(stops)}", markup=False, soft_wrap=True)
    failures = _merged(
        {f"{failure.source}/{failure.kind}": failure.count for failure in item.failures}
        for item in summary.environments
    )
    if failures:
        out.print(f"failed: {_counts(failures)}", style="red", markup=False, soft_wrap=True)
    costs = [item.cost for item in summary.environments if item.cost is not None]
    if costs:
        out.print(f"cost: {sum(costs):.4g}", markup=False, soft_wrap=True)
    for note in _notes(summary):
        out.print(f"note: {note}", style="dim", markup=False, soft_wrap=True)


def print_runs_side_by_side(summaries: Sequence[RunSummary]) -> None:
    """Print several runs, environment by environment."""
    names = [printable(summary.name) for summary in summaries]
    columns = ("episodes", "failed", "mean return", "success", "turns")
    for env in dict.fromkeys(item.env for summary in summaries for item in summary.environments):
        table = Table(("run", *columns), right=columns, title=printable(env))
        for name, summary in zip(names, summaries, strict=True):
            item = next((item for item in summary.environments if item.env == env), None)
            if item is not None:
                table.add_row(
                    name,
                    _progress(item.episodes, item.planned),
                    _blank_zero(item.failed),
                    mean_text(item.mean_return),
                    share_text(item.success),
                    _mean(item.turns),
                )
        table.show()
    out = console()
    for name, summary in zip(names, summaries, strict=True):
        for note in _notes(summary):
            out.print(f"note: {name}: {note}", style="dim", markup=False, soft_wrap=True)


def share_text(estimate: Estimate | None) -> str:
    """Return a share in per cent with its interval, which need not be symmetric: ``81.2 % (77.0 … 84.7)``."""
    if estimate is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return f"{_per_cent(estimate.value)} %"
    return f"{_per_cent(estimate.value)} % ({_per_cent(estimate.low)} … {_per_cent(estimate.high)})"


def mean_text(estimate: Estimate | None) -> str:
    """Return a mean with half of its interval: ``0.812 ± 0.046``."""
    if estimate is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return _number(estimate.value)
    return f"{_number(estimate.value)} ± {_number((estimate.high - estimate.low) / 2)}"


def _heading(summary: RunSummary) -> str:
    parts = [printable(part) for part in (summary.name, summary.agent) if part]
    played = _progress(summary.episodes, summary.planned).replace("/", " of ")
    parts.append(f"{played} episodes")
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    return " · ".join(parts)


def _print_environment(item: EnvironmentSummary) -> None:
    """Print the figures of one environment, one a line."""
    table = Table(("", printable(item.env)))
    sizes = f" of up to {item.group_size} episodes" if item.group_size > 1 else ""
    lines = {
        "episodes": f"{_progress(item.episodes, item.planned)}, {item.groups} seeds{sizes}",
        "mean return": mean_text(item.mean_return),
        "success": share_text(item.success),
        **{f"pass@{k}": share_text(estimate) for k, estimate in item.pass_at_k.items() if k > 1},
        **{f"pass^{k}": share_text(estimate) for k, estimate in item.pass_all_k.items() if k > 1},
        **{printable(name): mean_text(score) for name, score in item.scores.items()},
        "turns": _spread(item.turns),
        "prompt tokens": _spread(item.prompt_tokens),
        "completion tokens": _spread(item.completion_tokens),
        "tool calls": _spread(item.tool_calls) if item.tool_calls is not None and item.tool_calls.total else "",
        "seconds": _spread(item.seconds),
        "time of the agent": _agent_share(item),
    }
    for name, text in lines.items():
        if text:
            table.add_row(name, text)
    table.show()


def _print_results(summary: RunSummary) -> None:
    columns = ("episodes", "mean return", "success")
    table = Table(("environment", *columns), right=columns)
    for item in summary.environments:
        table.add_row(
            printable(item.env),
            _progress(item.episodes, item.planned),
            mean_text(item.mean_return),
            share_text(item.success),
        )
    if summary.overall is not None:
        table.add_row("all, equal weights", str(summary.episodes), "", share_text(summary.overall))
    table.show()


def _print_attempts(summary: RunSummary) -> None:
    table = Table(("environment", "k", "pass@k", "pass^k"), right=("k", "pass@k", "pass^k"))
    for item in summary.environments:
        for k in item.pass_at_k:
            if k > 1:  # both are the success rate for one attempt
                table.add_row(printable(item.env), str(k), share_text(item.pass_at_k[k]), share_text(item.pass_all_k[k]))
    if table.rows:
        table.show()


def _print_scores(summary: RunSummary) -> None:
    table = Table(("environment", "reward", "mean"), right=("mean",))
    for item in summary.environments:
        for name, score in item.scores.items():
            table.add_row(printable(item.env), printable(name), mean_text(score))
    if table.rows:
        table.show()


def _print_effort(summary: RunSummary) -> None:
    columns = ("turns (p95)", "tokens in", "out", "tools", "seconds", "agent")
    table = Table(("an episode takes", *columns), right=columns)
    for item in summary.environments:
        if item.turns is not None:
            table.add_row(
                printable(item.env),
                f"{_number(item.turns.mean, digits=3)} ({item.turns.p95:.0f})",
                _mean(item.prompt_tokens),
                _mean(item.completion_tokens),
                _mean(item.tool_calls) if item.tool_calls is not None and item.tool_calls.total else "",
                _mean(item.seconds),
                _agent_share(item),
            )
    if table.rows:
        table.show()


def _notes(summary: RunSummary) -> list[str]:
    """Return the notes of a run, each once; one that does not hold for every environment says for how many."""
    of_environments: Counter[str] = Counter()
    for item in summary.environments:
        of_environments.update(dict.fromkeys(_environment_notes(item), 1))
    total = len(summary.environments)
    notes = list(summary.notes)
    for note, count in of_environments.items():
        notes.append(note if count == total else f"{note} ({count} of {total} environments)")
    return [printable(note) for note in notes]


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
    return ", ".join(f"{count} {printable(name)}" for name, count in counts.most_common())


def _per_cent(share: float) -> str:
    return "100" if share == 1 else "0" if share == 0 else f"{100 * share:.1f}"


def _progress(done: int, planned: int | None) -> str:
    return str(done) if planned is None or planned == done else f"{done}/{planned}"


def _blank_zero(count: int) -> str:
    return str(count) if count else ""


def _agent_share(item: EnvironmentSummary) -> str:
    """Return the agent's part of the time in which the agent or the environment was busy."""
    busy = item.act_seconds + item.step_seconds
    return f"{item.act_seconds / busy:.0%}" if busy > 0 else ""


def _spread(distribution: Distribution | None) -> str:
    if distribution is None:
        return ""
    return f"{_mean(distribution)} (p50 {_number(distribution.p50, 3)}, p95 {_number(distribution.p95, 3)})"


def _mean(distribution: Distribution | None) -> str:
    return "" if distribution is None else _number(distribution.mean, digits=3)


def _number(value: float, digits: int = 4) -> str:
    """Return a number in a few characters: 0.8125, 12.34, 1,234, 12.3k."""
    size = abs(value)
    if size >= 1e7:
        return f"{value:.3g}"
    if size >= 1e4:
        return f"{value / 1000:,.{1 if size < 1e5 else 0}f}k"
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = max(0, digits - (1 if size < 10 else 2 if size < 100 else 3))
    return f"{value:.{decimals}f}"
