"""``gem terminal audit``."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from gem_cli.output import Table, json_option, print_json
from gem_terminal.cli.options import engine_option, selection_options, targets_argument
from gem_terminal.cli.task_targets import Selection, tasks_of
from gem_terminal.task_set import TaskFolder
from gem_terminal.verdicts.audit import FINDINGS, TaskAudit, audit_task

if TYPE_CHECKING:
    from gem_terminal.cli.proof import Prover

__all__ = ["audit_command"]

_MOST_ROWS = 100
"""Tasks up to which the table has a row for each."""


@click.command("audit")
@targets_argument
@click.option(
    "--run", is_flag=True, help="Build the images too, and play the solution and nothing, with both verifiers."
)
@engine_option
@click.option(
    "--jobs", type=click.IntRange(1, 64), metavar="N", help="With --run: tasks at once.  [default: one a CPU]"
)
@selection_options
@json_option
def audit_command(
    targets: tuple[str, ...], run: bool, engine_name: str, jobs: int | None, selection: Selection, as_json: bool
) -> None:
    """Tell what stands between tasks and runs that can be trusted.

    Without --run, the command reads files and starts nothing, so it takes seconds for thousands of tasks. It finds
    tasks that need a network, services or several containers, that the namespace engine cannot build, whose verdict
    an agent can forge, and whose solution the pristine verifier may refuse. With --run it builds each image and plays
    two or three episodes: nothing, the solution, and the solution under the pristine verifier.

    \b
    Examples:
      gem terminal audit terminal-bench-2
      gem terminal audit my-tasks --run --engine namespace
      gem terminal audit my-tasks --json > audit.json
    """
    from gem_terminal.engines.base import ProgressStage
    from gem_terminal.episodes.progress import showing

    found = tasks_of(targets, selection)
    with showing("audited") as tell:
        audits = []
        for number, one in enumerate(found, 1):
            audits.append(audit_task(one))
            tell(ProgressStage(one.name, number, len(found)))
    if run:
        _run(found, audits, engine_name, jobs, selection)
    if as_json:
        print_json([{**asdict(audit), "kinds": audit.kinds} for audit in audits])
    else:
        _show(audits, run)
    if all(one.task is None for one in found):
        raise click.exceptions.Exit(1)


def _run(
    found: list[TaskFolder], audits: list[TaskAudit], engine_name: str, jobs: int | None, selection: Selection
) -> None:
    from gem.cpus import usable_cpus
    from gem_terminal.cli.proof import Prover
    from gem_terminal.engines import engine_by_name
    from gem_terminal.engines.base import ProgressStage
    from gem_terminal.episodes.progress import showing

    engine = engine_by_name(engine_name)
    provers = [Prover(engine, 1, selection.options)]
    if selection.options.verifier != "pristine":
        provers.append(Prover(engine, 1, replace(selection.options, verifier="pristine")))

    def play(one: TaskFolder, audit: TaskAudit) -> None:
        if one.task is None:
            return
        if why := provers[0].build(one.task):
            audit.add("build-fails", why)
            return
        _add_proofs(one, audit, provers)

    with showing("played") as tell, ThreadPoolExecutor(jobs or usable_cpus()) as threads:
        running = {threads.submit(play, one, audit): one for one, audit in zip(found, audits, strict=True)}
        try:
            for number, done in enumerate(as_completed(running), 1):
                done.result()
                tell(ProgressStage(running[done].name, number, len(found)))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            for prover in provers:
                prover.stop()
            raise


def _add_proofs(one: TaskFolder, audit: TaskAudit, provers: list[Prover]) -> None:
    proof = provers[0].prove(one)
    audit.oracle, audit.nothing = (max(rewards, default=None) for rewards in (proof.oracle, proof.nothing))
    if audit.nothing is None or audit.nothing > 0.0:
        audit.add("noop-scores", f"{audit.nothing:g}" if audit.nothing is not None else "it could not be played")
    if one.task is None or one.task.solution is None:
        return
    for doubt in proof.doubts:
        if doubt not in audit.kinds:
            audit.add(doubt, "after its solution")
    why = "; ".join(proof.problems)
    if audit.oracle != 1.0:
        audit.add("oracle-fails", why)
    elif len(provers) > 1 and one.task.tests.separate is None:
        proof = provers[1].prove(one, only_solution=True)
        audit.oracle_pristine = max(proof.oracle, default=None)
        if audit.oracle_pristine != 1.0:
            audit.add("oracle-fails-pristine", "; ".join(proof.problems))


def _show(audits: list[TaskAudit], run: bool) -> None:
    if len(audits) <= _MOST_ROWS:
        columns = ("task", "verdict", *(("oracle", "nothing", "pristine") if run else ()), "findings")
        rows = Table(columns, right=("oracle", "nothing", "pristine") if run else ())
        for audit in audits:
            played = (audit.oracle, audit.nothing, audit.oracle_pristine) if run else ()
            numbers = ("–" if reward is None else f"{reward:g}" for reward in played)
            rows.add_row(audit.name, audit.verdict or "–", *numbers, ", ".join(audit.kinds))
        rows.show()
    counts = Counter(kind for audit in audits for kind in audit.kinds)
    table = Table(("finding", "tasks", "meaning", "for example"), right=("tasks",))
    for kind, meaning in FINDINGS.items():
        if counts[kind]:
            example = next(audit for audit in audits if kind in audit.kinds)
            table.add_row(kind, str(counts[kind]), meaning, example.name)
    table.show()
    sound = sum(not audit.findings for audit in audits)
    count = f"{len(audits)} {'task' if len(audits) == 1 else 'tasks'}"
    click.secho(f"{count}, {sound} without findings; --json has the details", bold=True)
