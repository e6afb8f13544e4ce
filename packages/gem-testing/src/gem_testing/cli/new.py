"""``gem new``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import click

from gem.errors import ArgumentError
from gem_cli.output import json_option, print_json
from gem_cli.progress import progress
from gem_cli.write_folder import check_target, write_files
from gem_testing.scaffold import names
from gem_testing.scaffold.project import EXAMPLES, LICENCES, Project
from gem_testing.scaffold.sources import MadeFiles, made_from

__all__ = ["new_command"]

CHOICES = {"both": ("single", "multi"), "all": tuple(EXAMPLES), **{kind: (kind,) for kind in EXAMPLES}}


@click.command("new")
@click.argument("name", required=False)
@click.option("--import-name", help="Import name of the package.  [default: NAME with '_' for '-']")
@click.option("--namespace", help="Part of its ids before the colon.  [default: NAME without 'gem' and 'envs']")
@click.option("--share-namespace", is_flag=True, help="Allow a namespace that packages of GEM itself fill.")
@click.option("--description", help="One sentence on the package.")
@click.option("--author", help="Holder of the copyright.  [default: git's user.name]")
@click.option(
    "--license", "licence", type=click.Choice([*LICENCES], case_sensitive=False), help="[default: Apache-2.0]"
)
@click.option(
    "--examples",
    type=click.Choice([*CHOICES]),
    help="Environments to begin with.  [default: both, that is single and multi]",
)
@click.option(
    "--into", "--path", type=click.Path(path_type=Path), metavar="DIR", help="Where to write it.  [default: ./NAME]"
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Make the environment from a description: an OpenAPI document or a list of tools (FILE.json, FILE.yaml), "
    "mcp:SERVER, or a text (FILE.md).",
)
@click.option(
    "--tasks", type=click.IntRange(1, 100_000), default=60, show_default=True, help="Tasks to make, with --from."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Decides the tasks, with --from.")
@click.option("--model", help="A model that phrases the tasks, with --from.")
@click.option("--base-url", help="Where the model is served, as for gem eval.")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing; use the defaults of missing options.")
@json_option
def new_command(
    name: str | None,
    import_name: str | None,
    namespace: str | None,
    share_namespace: bool,
    description: str | None,
    author: str | None,
    licence: str | None,
    examples: str | None,
    into: Path | None,
    source: str | None,
    tasks: int,
    seed: int,
    model: str | None,
    base_url: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Write a new package of environments.

    It has example environments (single-turn, multi-turn, or with pictures), tests, types, a licence, hooks and a
    workflow for continuous integration, and it passes all its own checks as it is. On a terminal the command asks for
    missing options; --yes and --json ask nothing.

    With --from, the package has one environment, made from a description, with tasks that were verified by program.

    \b
    Examples:
      gem new my-envs
      gem new my-envs --namespace puzzles --license MIT --examples multi --yes
      gem new my-pictures --examples picture
      gem new --into . my-envs
      gem new my-shop --from openapi.yaml
      gem new my-notes --from "mcp:servers.json" --tasks 100
    """
    if source is not None and examples is not None:
        raise click.UsageError("--examples and --from exclude each other: a made package has no examples")
    if source is None and (model is not None or base_url is not None):
        raise click.UsageError("--model and --base-url phrase the tasks of --from, which is missing")
    ask = _Questions(asked=sys.stdin.isatty() and not yes and not as_json)
    if name is None and not ask.asked:
        raise click.UsageError("the package needs a name, for example: gem new my-envs")
    distribution = ask("Name for pip install", name, "my-envs", names.check_distribution)
    # Before any other question, whose answers would be wasted.
    folder = check_target(into or Path(distribution))
    import_name = ask("Import name", import_name, names.propose_import_name(distribution), names.check_import_name)
    namespace = ask(
        "Namespace of its ids",
        namespace,
        names.propose_namespace(distribution, import_name),
        lambda text: names.check_namespace(text, share_namespace),
    )
    project = Project(
        distribution,
        import_name,
        namespace,
        ask("Description", description, "Environments for language-model agents.", _line("the description")),
        ask("Author", author, _proposed_author(distribution), _line("the author")),
        ask("Licence", licence, "Apache-2.0", None, [*LICENCES]),
    )
    if source is None:
        chosen = CHOICES[ask("Example environments", examples, "both", None, [*CHOICES])]
        project = project._replace(examples=tuple(EXAMPLES[kind] for kind in chosen))
    else:
        project = project._replace(made=_made(project, source, tasks, seed, model, base_url))
    files = project.files()
    write_files(folder, files)
    if as_json:
        print_json(
            {
                "folder": str(folder.resolve()),
                "distribution": project.distribution,
                "import_name": project.import_name,
                "namespace": project.namespace,
                "environments": project.environments(),
                "files": [*files],
                **({} if project.made is None else {"summary": [*project.made.summary]}),
            }
        )
        return
    _say_what_is_next(folder, project, len(files))


def _made(project: Project, source: str, tasks: int, seed: int, model: str | None, base_url: str | None) -> MadeFiles:
    with progress() as bar:
        task = bar.add_task("tasks", total=tasks, note="")
        return made_from(
            source,
            {
                "distribution": project.distribution,
                "import_name": project.import_name,
                "namespace": project.namespace,
                "tasks": tasks,
                "seed": seed,
                "model": model,
                "base_url": base_url,
                "progress": lambda done: bar.update(task, completed=done),
            },
        )


class _Questions:
    """Asks for missing options, or takes their defaults where there is no terminal."""

    def __init__(self, asked: bool) -> None:
        self.asked = asked

    def __call__(
        self,
        question: str,
        given: str | None,
        default: str,
        check: Callable[[str], str] | None,
        choices: list[str] | None = None,
    ) -> str:
        if given is not None or not self.asked:
            value = default if given is None else given
            return value if check is None else check(value)
        kind = None if choices is None else click.Choice(choices, case_sensitive=False)
        while True:
            answer: str = click.prompt(question, default=default, type=kind)
            try:
                return answer if check is None else check(answer)
            except ArgumentError as error:
                click.secho(f"{error}.", fg="yellow")


def _line(what: str) -> Callable[[str], str]:
    return lambda text: names.check_line(what, text)


def _proposed_author(distribution: str) -> str:
    """Return the committer's name according to git, or an empty proposal if git gives no name."""
    import subprocess

    try:
        asked = subprocess.run(
            ["git", "config", "--get", "user.name"],  # noqa: S607  # git is wherever the author has put it
            capture_output=True,
            encoding="utf-8",
            timeout=5,
            check=False,
        )
        return names.check_line("the author", asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return f"The authors of {distribution}"


def _say_what_is_next(folder: Path, project: Project, count: int) -> None:
    shown = os.path.relpath(folder)
    click.echo(f"Wrote {count} files into {shown}: the package {project.distribution}, with")
    for env_id in project.environments():
        click.echo(f"  {env_id}")
    for line in () if project.made is None else project.made.summary:
        click.echo(line)
    click.secho("\nWhat comes next:", bold=True)
    if shown != ".":
        click.echo(f"  cd {shlex.quote(shown)}")
    click.echo("  python -m venv .venv && . .venv/bin/activate && pip install --upgrade pip")
    click.echo("  pip install --editable . --group dev")
    click.echo("  pytest")
    click.echo(f"  gem play {project.example_id}")
