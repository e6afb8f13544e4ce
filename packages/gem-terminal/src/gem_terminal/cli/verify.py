"""``gem terminal verify``."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict

import click

from gem_cli.output import Table, json_option, print_json
from gem_terminal.cli.options import engine_option, selection_options, targets_argument
from gem_terminal.cli.proof import Proof, Prover
from gem_terminal.cli.task_targets import Selection, tasks_of

__all__ = ["verify_command"]

_LOG_LINES = 12
"""Lines of the tests' output that are shown of a task that failed."""


@click.command("verify")
@targets_argument
@engine_option
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Tasks at once.  [default: one a CPU]")
@click.option(
    "--attempts",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Repeat each; all must agree.",
)
@selection_options
@json_option
def verify_command(
    targets: tuple[str, ...], engine_name: str, jobs: int | None, attempts: int, selection: Selection, as_json: bool
) -> None:
    """Test whether tasks are sound: the solution earns 1.0, and doing nothing earns less.

    For each task, one episode plays the solution and one finishes at once. Doing nothing should earn 0.0; a reward
    between 0.0 and 1.0 causes a warning, because the tests then reward the initial state. The exit code is 1 if a task
    fails, is malformed or has no solution.

    \b
    Examples:
      gem terminal verify
      gem terminal verify my-tasks --jobs 2
      gem terminal verify my-tasks/flaky --attempts 10
      gem terminal verify terminal-bench --filter "difficulty=easy and tag:git"
    """
    from gem.cpus import usable_cpus
    from gem_terminal.engines import engine_by_name
    from gem_terminal.engines.base import ProgressStage
    from gem_terminal.episodes.progress import showing

    found = tasks_of(targets, selection)
    prover = Prover(engine_by_name(engine_name), attempts, selection.options)
    proofs: dict[int, Proof] = {}
    with showing("verified") as tell, ThreadPoolExecutor(jobs or usable_cpus()) as threads:
        running = {threads.submit(prover.prove, one): number for number, one in enumerate(found)}
        try:
            for done in as_completed(running):
                number = running[done]
                proofs[number] = done.result()
                tell(ProgressStage(found[number].name, len(proofs), len(found)))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            prover.stop()
            raise
    _show([proofs[number] for number in sorted(proofs)], print_json if as_json else None)
    if not all(proof.ok for proof in proofs.values()):
        raise click.exceptions.Exit(1)


def _show(proofs: list[Proof], print_as_json: Callable[[object], None] | None) -> None:
    if print_as_json is not None:
        print_as_json([{**asdict(proof), "ok": proof.ok} for proof in proofs])
        return
    rows = Table(("task", "oracle", "nothing", "seconds", "result"), right=("oracle", "nothing", "seconds"))
    for proof in proofs:
        result = "failed" if not proof.ok else "warning" if proof.warnings else "ok"
        rows.add_row(proof.name, _rewards(proof.oracle), _rewards(proof.nothing), f"{proof.seconds:.1f}", result)
    rows.show()
    for proof in proofs:
        for text, colour in [*((p, "red") for p in proof.problems), *((w, "yellow") for w in proof.warnings)]:
            click.secho(f"{proof.name}: {text}", fg=colour)
        for line in proof.log.splitlines()[-_LOG_LINES:] if proof.problems else ():
            click.secho(f"  {line}", dim=True)
    failed = sum(not proof.ok for proof in proofs)
    count = f"{len(proofs)} {'task' if len(proofs) == 1 else 'tasks'}"
    click.secho(f"{count}, {failed} failed" if failed else f"{count}, all sound", bold=True)


def _rewards(rewards: list[float]) -> str:
    """Return one number if all attempts agree, and otherwise their range."""
    if not rewards:
        return "–"
    low, high = min(rewards), max(rewards)
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"
