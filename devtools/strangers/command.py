"""``python3 dev.py strangers``: the README's commands in the cells of the matrix, one cell after another."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from devtools.shell import ROOT, say
from devtools.strangers.cells import AXES, HOMES, LOADED, PRIVATE, Cell, all_cells, choose, readme_commands
from devtools.strangers.checkout import pack_checkout
from devtools.strangers.layers import LayerStore
from devtools.strangers.machine import (
    MachineError,
    Mount,
    OverlayMachine,
    busy_neighbour,
    missing_rights,
    remove_tree,
)
from devtools.strangers.machine_settings import environment_variables, local_paths, pip_configuration
from devtools.strangers.outcome import PYTEST_REPORT, CellOutcome, CommandOutcome, TestCounts, format_table, read_counts

__all__ = ["CACHE", "strangers"]

LOAD = 20
"""The number of processes that keep the processors busy beside a loaded cell."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "gem-strangers"
_CHECK_OUT = f"""
set -eu
case "$2" in {PRIVATE}/*) install -d -m 700 -o "$1" -g "$1" {PRIVATE} ;; esac
mkdir -p "$2"
tar -x --no-same-owner -C "$2"
chown -R "$1:$1" "$2"
"""


def strangers(arguments: list[str]) -> int:
    """Run the chosen cells; return 1 unless all of them are green."""
    options, more = _parse(arguments)
    cells = choose(options.cells, {axis: getattr(options, axis) for axis in AXES})
    if options.list:
        names = [cell.name for cell in cells]
        print(json.dumps(names) if options.json else "\n".join(names))
        return 0
    commands = _commands(options.only, options.command, more)
    if os.geteuid() != 0 and shutil.which("sudo") is not None:
        again = [sys.executable, str(ROOT / "dev.py"), "strangers", *arguments]
        os.execvp("sudo", ["sudo", "-n", "-E", *again])  # noqa: S606, S607  # asks for no password, or says that it must
    # A terminated run ends its machines and its load, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options.cache.mkdir(parents=True, exist_ok=True)
    cache = options.cache.resolve()
    logs = _folder(cache / "logs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    say(f"{len(cells)} of {len(all_cells())} cells; logs in {logs}")
    reason = missing_rights(cache)
    if reason is None:
        pack_checkout(logs / "checkout.tar")
    outcomes = []
    for number, cell in enumerate(cells, 1):
        say(f"{number} of {len(cells)}: {cell.name}")
        if reason is None:
            outcomes.append(_run(cell, commands, cache, logs, options.limit))
        else:
            outcomes.append(CellOutcome(cell.name, not_made=reason))
        (logs / "outcomes.json").write_text(_as_json(logs, outcomes), encoding="utf-8")
    (logs / "checkout.tar").unlink(missing_ok=True)
    shutil.rmtree(cache / "cells" / logs.name, ignore_errors=True)
    print(_as_json(logs, outcomes) if options.json else f"{format_table(outcomes)}\n\nlogs: {logs}")
    return 0 if all(outcome.green for outcome in outcomes) else 1


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and the arguments for pytest after ``--``."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    own, more = arguments[:cut], arguments[cut + 1 :]
    parser = argparse.ArgumentParser(
        "dev.py strangers",
        usage="dev.py strangers [OPTIONS] [-- PYTEST ARGS]",
        description="Run the README's commands on bare machines, one for each cell of "
        + " x ".join(f"{{{', '.join(values)}}}" for values in AXES.values())
        + ". The exit code is 1 unless every cell could be made and is green.",
    )
    parser.add_argument(
        "--cells", nargs="+", default=[], metavar="NAME", help="such as root/nothing/home/idle, root/nothing, '*/idle'"
    )
    for axis, values in AXES.items():
        parser.add_argument(f"--{axis}", nargs="+", choices=values, default=[], help="only cells with one of these")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and run nothing")
    parser.add_argument("--only", choices=("demo", "test"), help="run one of the README's two commands")
    parser.add_argument("--command", help="a command of the shell in place of the README's second one")
    parser.add_argument("--limit", type=float, default=180, help="minutes for each command (default: 180)")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"folder of root file systems (default: {CACHE})")
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args(own)
    if options.only == "demo" and (more or options.command):
        parser.error(
            "--command and arguments after -- concern the README's second command, which --only demo leaves out"
        )
    if more and options.command:
        parser.error("arguments after -- go to the README's second command; write them into --command")
    return options, more


def _commands(only: str | None, command: str | None, more: Sequence[str]) -> dict[str, str]:
    """Return the commands of a cell by name; the tests get the option by which they can be counted."""
    found = readme_commands()
    found["test"] = command or shlex.join([*shlex.split(found["test"]), PYTEST_REPORT, *more])
    return {name: line for name, line in found.items() if only in (None, name)}


def _run(cell: Cell, commands: dict[str, str], cache: Path, logs: Path, minutes: float) -> CellOutcome:
    """Make the machine of a cell, run the commands there one after another, and remove the machine."""
    outcome = CellOutcome(cell.name)
    name = cell.name.replace("/", "-")
    try:
        layers = LayerStore(cache, logs).of(cell.software)
        place = f"cells/{logs.name}/{name}"
        # The root of the machine is an overlay, in which nothing can be marked as deleted; a disk of one's own is none.
        disk = Mount(_folder(cache / f"{place}.checkout"), cell.folder, "rw")
        mounts = [*_mounts(cache, logs, cell), disk]
        with OverlayMachine(cache, layers, place, mounts, environment_variables()) as machine:
            log = logs / f"{name}.checkout.log"
            arguments = ("sh", "-c", _CHECK_OUT, "sh", cell.account, cell.folder)
            if machine.run(*arguments, log=log, stdin=logs / "checkout.tar"):
                raise MachineError(f"the checkout could not be unpacked; see {log}")
            with busy_neighbour(LOAD) if cell.load == LOADED else nullcontext():
                for key, command in commands.items():
                    outcome.commands[key] = _run_command(
                        machine, cell, key, command, logs / f"{name}.{key}.log", 60 * minutes
                    )
    except MachineError as error:
        outcome.not_made = str(error)
    finally:
        remove_tree(cache / f"cells/{logs.name}/{name}.checkout")
    return outcome


def _run_command(
    machine: OverlayMachine, cell: Cell, key: str, command: str, log: Path, seconds: float
) -> CommandOutcome:
    before, began = _cpu_seconds(), time.monotonic()
    code = machine.run(
        *("bash", "-c", command),
        log=log,
        account=cell.account,
        directory=cell.folder,
        limit=seconds,
    )
    took, used = time.monotonic() - began, _cpu_seconds() - before
    counts = read_counts(log.read_text(encoding="utf-8", errors="replace")) if key == "test" else None
    if counts is None and PYTEST_REPORT in command:
        counts = TestCounts()  # the tests never began
    return CommandOutcome(command, code, round(took, 1), round(used, 1), str(log), counts)


def _mounts(cache: Path, logs: Path, cell: Cell) -> list[Mount]:
    """Return what a machine sees of this one: package indexes with their settings, and caches of downloads."""
    settings = logs / "pip.conf"
    settings.write_text(pip_configuration(), encoding="utf-8")
    mounts = [Mount(settings, "/etc/pip.conf"), *(Mount(path, str(path)) for path in local_paths())]
    for name in ("pip", "uv"):
        folder = _folder(cache / f"caches-{cell.account}" / name)
        owner = 0 if cell.account == "root" else 1000
        os.chown(folder, owner, owner)
        mounts.append(Mount(folder, f"{HOMES[cell.user]}/.cache/{name}", "rw"))
    return mounts


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _as_json(logs: Path, outcomes: list[CellOutcome]) -> str:
    cells = [{**asdict(outcome), "green": outcome.green} for outcome in outcomes]
    return json.dumps({"logs": str(logs), "cells": cells}, indent=1, ensure_ascii=False)
