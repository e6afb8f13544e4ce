"""``gem data``: the data sets of environments."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, DatasetError, GemError
from gem_cli.completers import complete_ids
from gem_cli.output import Table, json_option, print_json
from gem_cli.progress import progress
from gem_questions.cli.data_check import check_command

__all__ = ["data_command"]


@click.group("data")
def data_command() -> None:
    """Fetch the data sets of environments, list those on this machine, and check what graders make of a set.

    \b
    Examples:
      gem data list
      gem data pull math:GSM8K eval:AIME24
      gem data check train.jsonl
    """


data_command.add_command(check_command)


@data_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the environments of installed packages that need a data set, with its place.

    \b
    Example:
      gem data list
    """
    from gem.registry import all_specs

    found: list[dict[str, str | None]] = []
    for spec in all_specs():
        if "dataset" in spec.requires:
            name, split = _set_of(spec)
            place = None if name is None else _place(name)
            found.append({"id": spec.id, "dataset": name, "split": split, "path": str(place) if place else None})
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No installed environment needs a data set.")
        return
    table = Table(("environment", "data set", "split", "where"))
    for row in found:
        table.add_row(row["id"] or "", row["dataset"] or "", row["split"] or "", row["path"] or "not here")
    table.show()
    if any(row["path"] is None for row in found):
        click.echo("Fetch one with: gem data pull ID")


@data_command.command("pull")
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=complete_ids)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="GEM_DATA_DIR",
    help="Put the files into DIR/owner/name instead of Hugging Face's cache; GEM_DATA_DIR=DIR finds them there.",
)
@json_option
def pull_command(names: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Fetch data sets from Hugging Face, for use without a network.

    ID is an environment, or a data set's own name, owner/name. Files on this machine are not fetched again.

    \b
    Examples:
      gem data pull math:GSM8K
      gem data pull axon-rl/GSM-8k --dir mirror
    """
    from gem_questions.huggingface import offline, unreachable

    wanted: dict[str, None] = dict.fromkeys(_dataset(name) for name in names)
    reason = offline() or unreachable()
    if reason is not None:
        raise DatasetError(f"nothing can be fetched: {reason}")
    done = [_pull(name, folder) for name in wanted]
    if as_json:
        print_json(done)
        return
    for fetched in done:
        click.echo(f"{fetched['dataset']}: {fetched['files']} files, {fetched['bytes']:,} bytes, in {fetched['path']}")


def _dataset(name: str) -> str:
    """Return the data set behind an environment or a name."""
    from gem.registry import spec as find_spec
    from gem_questions.huggingface import is_dataset_name

    if ":" not in name:
        if not is_dataset_name(name):
            raise ArgumentError(f"{name!r} is neither an environment (namespace:Name) nor a data set (owner/name)")
        return name
    spec = find_spec(name)
    dataset, _ = _set_of(spec)
    if dataset is None:
        raise ArgumentError(f"{spec.id} has no data set at Hugging Face: nothing needs to be fetched")
    return dataset


def _set_of(spec: EnvSpec) -> tuple[str | None, str | None]:
    """Return the data set and split of an environment: from its arguments, or its constructor's defaults."""
    from gem.entry_points import load

    values: dict[str, Any] = dict(spec.kwargs)
    if "dataset" in spec.requires and ("dataset_name" not in values or "split" not in values):
        try:
            parameters = inspect.signature(load(spec.entry_point)).parameters
        except (GemError, TypeError, ValueError):
            parameters = {}  # type: ignore[assignment]
        values = {**{name: parameter.default for name, parameter in parameters.items()}, **values}
    name, split = values.get("dataset_name"), values.get("split")
    return name if isinstance(name, str) and name else None, split if isinstance(split, str) else None


def _place(name: str) -> Path | None:
    from gem_questions.huggingface import is_dataset_name, local_copy
    from gem_questions.shared import expanded

    path = expanded(name)
    if path.exists():
        return path
    return local_copy(name) if is_dataset_name(name) else None


def _pull(name: str, folder: Path | None) -> dict[str, Any]:
    """Download every file of a data set; return a report."""
    from gem_questions.huggingface import endpoint

    try:
        import huggingface_hub as hub
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ImportError as error:
        raise DatasetError(
            "fetching data sets needs Hugging Face's libraries; run: pip install 'gem-questions[datasets]'"
        ) from error
    target: dict[str, Any] = {} if folder is None else {"local_dir": folder.expanduser() / name}
    try:
        with progress() as bar:
            facts = hub.HfApi(endpoint=endpoint()).dataset_info(name, files_metadata=True)
            files = {file.rfilename: file.size or 0 for file in facts.siblings or ()}
            task = bar.add_task(f"{name} (MB)", total=sum(files.values()) / 1e6, note="")

            class Meter(tqdm):  # type: ignore[misc]
                """Shows the library's progress on our own bar."""

                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    kwargs.pop("name", None)
                    super().__init__(*args, **{**kwargs, "disable": True})

                def update(self, n: float | None = 1) -> None:
                    bar.update(task, advance=(n or 0) / 1e6)

            if not files:
                raise DatasetError("it has no files")
            for file in files:
                bar.update(task, note=file)
                place = Path(
                    hub.hf_hub_download(
                        name, file, repo_type="dataset", endpoint=endpoint(), tqdm_class=Meter, **target
                    )
                )
    except Exception as error:  # the classes of several libraries
        reason = " ".join(str(error).split())[:300]
        raise DatasetError(f"the data set {name!r} cannot be fetched from {endpoint()}: {reason}") from error
    # The file lies there under its own path.
    folder_of_all = place.parents[len(Path(file).parts) - 1]
    return {"dataset": name, "files": len(files), "bytes": sum(files.values()), "path": str(folder_of_all)}
