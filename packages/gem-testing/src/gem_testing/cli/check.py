"""``gem check``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gem_cli.completers import complete_targets
from gem_cli.output import Table, json_option, print_json
from gem_cli.progress import progress

if TYPE_CHECKING:
    from gem_testing.record import EnvironmentResults
    from gem_testing.targets import PackageUnderTest

__all__ = ["check_command"]

_MOST_NAMED = 4


@click.command("check")
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=complete_targets)
@click.option("--clause", "clauses", metavar="NAME", multiple=True, help="Only this clause, or group; may be repeated.")
@click.option("--attacks", is_flag=True, help="Play attacks on the reward as well, as a hub does.")
@click.option(
    "--attack-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    metavar="S",
    help="Seconds for the attacks on one environment.",
)
@click.option("--strict", is_flag=True, help="Fail for clauses that could not be tested, too.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Environments at once.  [default: one a CPU]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds that one clause may take.",
)
@click.option("--report", type=click.Path(dir_okay=False), metavar="FILE", help="Write the conformance record here.")
@json_option
def check_command(
    targets: tuple[str, ...],
    clauses: tuple[str, ...],
    attacks: bool,
    attack_seconds: float,
    strict: bool,
    jobs: int | None,
    timeout: float,
    report: str | None,
    as_json: bool,
) -> None:
    """Test whether environments keep the contract of GEM.

    TARGET is an id, a namespace, an installed distribution, or the path of a project, of a package or of an
    environments.toml; the current folder by default. Each environment is tested in a process of its own, which may
    print, hang or die as it likes. Exit code 1 if a clause is violated, or with --attacks if an attack pays that the
    manifest does not declare.

    \b
    Examples:
      gem check
      gem check --attacks game:Sudoku-v0-easy
      gem check game:Sudoku-v0-easy --clause determinism
      gem check packages/my-envs --strict --report conformance.json
    """
    from gem.cpus import usable_cpus
    from gem_testing import pool
    from gem_testing.record import EnvironmentResults, record_of
    from gem_testing.runner import chosen
    from gem_testing.targets import packages_of

    names = tuple(clause.name for clause in chosen(clauses or None))
    figures: list[str] = [pool.SCORES, pool.SPEED] if report else [] if clauses else [pool.SCORES]
    figures += [pool.ATTACKS] if attacks else []
    packages = packages_of(*(targets or (".",)))
    if report is not None:
        Path(report).parent.mkdir(parents=True, exist_ok=True)  # now, and not when all the work is done
    findings = [EnvironmentResults(package, spec) for package in packages for spec in package.specs]
    tasks = [
        pool.CheckJob(
            found.spec,
            names,
            tuple(figures),
            found.package.manifest,
            found.package.namespaces,
            found.package.requirements,
            attack_seconds,
        )
        for found in findings
    ]
    labels = _labels(findings)
    unfinished = set(labels)
    interrupted = False
    try:
        with progress() as bar, _ended_like_an_interrupt():
            task = bar.add_task("environments", total=len(tasks), note="")
            for event in pool.check(tasks, jobs or usable_cpus(), timeout):
                found = findings[event.job]
                if isinstance(event, pool.TaskStarted):
                    bar.update(task, note=f"{labels[event.job]}  {event.what}")
                elif isinstance(event, pool.ClauseFinished):
                    found.results[event.result.clause] = event.result
                elif isinstance(event, pool.MeasurementFinished):
                    if event.value is None:
                        found.errors.append(f"{event.kind}: {event.error}")
                    else:
                        found.figures[event.kind] = event.value
                else:
                    unfinished.discard(labels[event.job])
                    bar.update(task, advance=1)
    except KeyboardInterrupt:
        interrupted = True
    record = record_of(packages, findings)
    if as_json:
        print_json(record.to_dict())
    else:
        _show(packages, findings, labels, len(unfinished))
    if interrupted:
        raise click.Abort
    if report is not None:
        record.write(report)
        if not as_json:
            click.secho(f"recorded in {report}", dim=True)
    if _fails(packages, findings, strict):
        raise click.exceptions.Exit(1)


@contextmanager
def _ended_like_an_interrupt() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C, so that no process is left behind."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fails(packages: list[PackageUnderTest], findings: list[EnvironmentResults], strict: bool) -> bool:
    from gem_testing.outcomes import ClauseOutcome

    return any(package.problem for package in packages) or any(
        found.count(ClauseOutcome.VIOLATED)
        or found.attacks_against()
        or (strict and found.count(ClauseOutcome.NOT_TESTED))
        for found in findings
    )


def _labels(findings: list[EnvironmentResults]) -> list[str]:
    """Return the id of each environment, with its owner where several have the same."""
    ids = [found.spec.id for found in findings]
    return [
        f"{found.package.name}/{found.spec.id}" if ids.count(found.spec.id) > 1 else found.spec.id for found in findings
    ]


def _show(
    packages: list[PackageUnderTest], findings: list[EnvironmentResults], labels: list[str], unfinished: int
) -> None:
    from gem_testing.outcomes import ClauseOutcome
    from gem_testing.vocabulary import propose_tags

    if findings:
        _show_table(findings, labels)
    results = [
        (label, result) for label, found in zip(labels, findings, strict=True) for result in found.results.values()
    ]
    broken = [(package.name, "manifest.schema", package.problem) for package in packages if package.problem]
    violated = [
        (label, result.clause, result.message) for label, result in results if result.outcome is ClauseOutcome.VIOLATED
    ]
    untested = [
        (label, result.clause, f"{result.message}; {result.advice}" if result.advice else result.message)
        for label, result in results
        if result.outcome is ClauseOutcome.NOT_TESTED and not result.exempt
    ]
    exempt = [(label, result.clause, result.message) for label, result in results if result.exempt]
    attacks = [
        (label, attack["name"], attack)
        for label, found in zip(labels, findings, strict=True)
        for attack in found.figures.get("attacks", {}).get("results", ())
    ]
    errors = [
        (label, *error.partition(": ")[::2])
        for label, found in zip(labels, findings, strict=True)
        for error in found.errors
    ]
    advice = [(label, "tags", propose_tags(found.spec.tags)) for label, found in zip(labels, findings, strict=True)]
    _show_group("violated", [*broken, *violated], "red")
    _show_group("not tested", untested, "yellow")
    _show_group("exempt, by the manifest", exempt, "cyan")
    _show_group("attacks that pay or break it", _attack_sentences(attacks, declared=False), "red")
    _show_group("attacks that pay, as the manifest declares", _attack_sentences(attacks, declared=True), "cyan")
    _show_group("not measured", errors, "yellow")
    _show_group("advice", [(label, name, sentence) for label, name, sentence in advice if sentence], "cyan")
    violating = len({label for label, *_ in violated})
    if attacks:
        withstood = sum(attack["outcome"] == "withstood" for _, _, attack in attacks)
        episodes = sum(attack["episodes"] for _, _, attack in attacks)
        click.echo(f"{withstood} of {len(attacks)} attacks withstood, in {episodes} episodes")
    click.echo(_verdict(len(findings), len(broken), violating, unfinished, len(untested), len(exempt)))


def _show_table(findings: list[EnvironmentResults], labels: list[str]) -> None:
    from gem_testing.outcomes import ClauseOutcome

    agents = ("random", "reference") if any("scores" in found.figures for found in findings) else ()
    numbers = ("holds", "violated", "not tested", "exempt", *agents)
    rows = Table(("environment", *numbers), right=numbers)
    for label, found in zip(labels, findings, strict=True):
        counts = [
            found.count(outcome) for outcome in (ClauseOutcome.HOLDS, ClauseOutcome.VIOLATED, ClauseOutcome.NOT_TESTED)
        ]
        counts.append(sum(result.exempt for result in found.results.values()))
        scores = found.figures.get("scores", {})
        rows.add_row(label, *(str(count or "") for count in counts), *(_score(scores.get(agent)) for agent in agents))
    rows.show()


def _score(score: dict[str, Any] | None) -> str:
    if score is None or score["mean"] is None:
        return ""
    return f"{score['mean']:.2f} ± {score['standard_error']:.2f}"


def _show_group(title: str, lines: list[tuple[str, str, str]], colour: str) -> None:
    """Print one line for each clause and sentence, with the environments to which it applies."""
    if not lines:
        return
    together: dict[tuple[str, str], list[str]] = {}
    for label, clause, sentence in lines:
        together.setdefault((clause, sentence), []).append(label)
    click.secho(title, fg=colour, bold=True)
    for (clause, sentence), labels in together.items():
        click.echo(f"  {_named(labels)}  {click.style(clause, fg=colour)}  {_printable(sentence)}")
    click.echo()


def _attack_sentences(attacks: list[tuple[str, str, Any]], declared: bool) -> list[tuple[str, str, str]]:
    """Return a sentence on each attack that pays or breaks its environment, declared ones or the others."""
    sentences = []
    for label, name, attack in attacks:
        earned, variant = attack["earned"], attack["variant"]
        if attack["outcome"] == "broke" and not declared:
            sentences.append((label, name, f"{variant!r} broke it: {attack['message']}"))
        elif attack["outcome"] == "pays" and bool(attack["declared"]) == declared:
            interval = f"95 % interval {earned['low']:.2f} to {earned['high']:.2f}, {earned['episodes']} episodes"
            reason = f"; {attack['declared']}" if declared else ""
            paid = (
                f"{variant!r} earns {earned['mean']:.2f} ({interval}), and {attack['bound']:.2f} is the bound{reason}"
            )
            sentences.append((label, name, paid))
    return sentences


def _named(labels: list[str]) -> str:
    """Return environments in few words: ``game:Sudoku-v0 (and -easy, -hard)``, ``game:Sudoku-v0 and 30 others``."""
    first, *others = labels
    if not others:
        return first
    if len(others) < _MOST_NAMED and all(label.startswith(f"{first}-") for label in others):
        return f"{first} (and {', '.join(label.removeprefix(first) for label in others)})"
    return f"{first} and {len(others)} other{'s' if len(others) > 1 else ''}"


def _printable(text: str) -> str:
    """Return text as one line that a terminal shows as it is: an environment may put anything into its errors."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


def _verdict(environments: int, broken: int, violating: int, unfinished: int, untested: int, exempt: int) -> str:
    """Return the last line, from the numbers of environments, of manifests that cannot be used, and so on."""
    counted = f"{environments} environment{'' if environments == 1 else 's'}"
    wrong = [f"{broken} manifest{'' if broken == 1 else 's'} cannot be used"] if broken else []
    wrong += [f"{violating} of {counted} violate{'s' if violating == 1 else ''} a clause"] if violating else []
    wrong += [f"{unfinished} of {counted} {_is(unfinished)} not checked to the end"] if unfinished else []
    if wrong:
        return click.style(", and ".join(wrong), fg="red")
    but = [f"{untested} could not be tested"] if untested else []
    but += [f"{exempt} {_is(exempt)} exempt"] if exempt else []
    holds = f"{counted}: all clauses hold" + (f", but {' and '.join(but)}" if but else "")
    return click.style(holds, fg="yellow" if untested else "green")


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
