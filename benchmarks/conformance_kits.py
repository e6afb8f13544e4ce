"""Compares two conformance kits on the same planted defects: this one, and Gymnasium's `check_env`.

    python -m pip install gymnasium
    python benchmarks/conformance_kits.py            # tables in Markdown
    python benchmarks/conformance_kits.py --json

The environments are those of `packages/gem-testing/tests/planted`, one defect each, every one checked in a process of
its own. Ours has caught a defect if the one clause that must name it is violated. Gymnasium's has caught it if it
raises, or gives a warning that the healthy environments do not cause; `Adapter` gives it the environments' results
unchanged. It cannot see features outside Gymnasium's interface (state, a manifest, reference policies), and Gymnasium
permits some results that GEM forbids (rewards that are ints); so the second table counts by group.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from results import write_results

from gem.core import Env
from gem.discovery.manifest import read_specs
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.registry import make
from gem_testing import ClauseOutcome, EnvUnderTest, run_clauses

sys.path.append(str(Path(__file__).resolve().parents[1] / "packages" / "gem-testing" / "tests"))
from planted_packages import planted_packages  # beside the tests

PLANTED = planted_packages()
MANIFESTS = {
    PLANTED / "planted_envs" / "environments.toml": ("gem-core", "numpy>=1.24", "spacy"),
    PLANTED / "planted_undeclared" / "environments.toml": ("gem-core", "planted-envs"),
}
"""Manifest → its package's declared dependencies."""

COLOUR = re.compile(r"\x1b\[\d*m")
TIMEOUT = 60.0
"""Wall-clock seconds that one kit has for one environment."""


@dataclass(frozen=True)
class Row:
    """One planted defect, and the findings of the two kits; an empty text means none."""

    name: str
    defect: str
    clause: str
    gem: str
    gymnasium: str


class Observations(spaces.Space[Any]):
    """Text, content parts, or a dict of these by agent, as in :mod:`gem.core`."""

    def __init__(self) -> None:
        super().__init__()

    def contains(self, x: Any) -> bool:
        if isinstance(x, dict):
            return all(self.contains(value) for value in x.values())
        if isinstance(x, list):
            return bool(x) and all(isinstance(part, dict) and part.get("type") in part for part in x)
        return isinstance(x, str) and bool(x)

    @property
    def is_np_flattenable(self) -> bool:
        return False


class Actions(spaces.Space[Any]):
    """The actions that the environment itself samples."""

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__()
        self._env = env

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        try:
            return self._env.sample_random_action()
        except NotSupportedError:
            return "1"

    def contains(self, x: Any) -> bool:
        return isinstance(x, (str, dict))

    @property
    def is_np_flattenable(self) -> bool:
        return False


class Adapter(gymnasium.Env[Any, Any]):
    """A GEM environment with Gymnasium's interface; with several agents, it adds up their rewards."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self, spec: EnvSpec) -> None:
        self.env = make(spec)
        self.observation_space = Observations()
        self.action_space = Actions(self.env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.env.reset(seed=seed) if not options else self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        if len(result) != 5 or not isinstance(result[1], dict):
            return result
        observation, rewards, _, truncations, info = result
        is_over = not self.env.unwrapped.agents  # type: ignore[attr-defined]
        return observation, float(sum(rewards.values())), is_over, is_over and any(truncations.values()), info

    def close(self) -> None:
        self.env.close()


def main() -> None:
    """Run both kits on everything, and print their findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--out", type=Path, help="keep the tables in this file; see results.py")
    options = parser.parse_args()
    rows, noise = compare()
    if options.out is not None:
        tables = {"defects": cells(table(rows)), "groups": cells(by_group(rows))}
        write_results(options.out, "python benchmarks/conformance_kits.py", ("gem-testing", "gymnasium"), tables)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        print("\n".join([*table(rows), "", *by_group(rows), "", summary(rows, noise)]))


def compare() -> tuple[list[Row], list[str]]:
    """Return a row for each defect, and the findings of Gymnasium's kit in the healthy environments."""
    sys.path.append(str(PLANTED))
    planted = [(spec, manifest) for manifest in MANIFESTS for spec in read_specs(manifest)]
    healthy = [spec for spec, _ in planted if spec.id.startswith("healthy:")]
    noise = sorted({said for spec in healthy for said in elsewhere(said_by_gymnasium, spec)})
    rows = []
    for spec, manifest in planted:
        if spec in healthy:
            continue
        ours = elsewhere(said_by_gem, spec, manifest)
        theirs = [said for said in elsewhere(said_by_gymnasium, spec) if said not in noise]
        rows.append(Row(spec.id, spec.description, spec.tags[0], "".join(ours[:1]), "".join(theirs[:1])))
        progress(f"{len(rows)} of {len(planted) - len(healthy)}")
    return rows, noise


def said_by_gem(spec: EnvSpec, manifest: Path) -> list[str]:
    """Return the violation of the clause that must name the defect, if any."""
    namespaces = frozenset({"healthy", "defect"})
    under_test = EnvUnderTest(spec, manifest=manifest, namespaces=namespaces, requirements=MANIFESTS[manifest])
    return [r.message for r in run_clauses(under_test, spec.tags[:1]) if r.outcome is ClauseOutcome.VIOLATED]


def said_by_gymnasium(spec: EnvSpec) -> list[str]:
    """Return the warnings of Gymnasium's `check_env`, and its exception."""
    name = re.sub(r"\W", "", spec.id)
    # Registered, because the checker compares episodes and closes twice only where an environment has a spec.
    gymnasium.register(f"{name}-v0", entry_point=lambda: Adapter(spec), disable_env_checker=True, order_enforce=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check_env(gymnasium.make(f"{name}-v0").unwrapped, skip_render_check=True)
            raised = []
        except Exception as error:
            raised = [f"{type(error).__name__}: {error}"]
    return [*raised, *(COLOUR.sub("", str(warning.message)).replace(name, "NAME") for warning in caught)]


def elsewhere(function: Callable[..., list[str]], *arguments: Any) -> list[str]:
    """Return the result of a function in a process of its own; a death or a hang counts as a finding."""
    context = multiprocessing.get_context("fork")  # modules imported here need not be imported again
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=_answer, args=(sender, folder, function, arguments))
        process.start()
        sender.close()
        try:
            found: list[str] = receiver.recv() if receiver.poll(TIMEOUT) else ["it hung"]
        except EOFError:
            found = ["it ended the process"]
        process.kill()
        process.join()
    return found


def _answer(sender: Any, folder: str, function: Callable[..., list[str]], arguments: tuple[Any, ...]) -> None:
    os.chdir(folder)
    tempfile.tempdir = folder
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    logging.raiseExceptions = False
    sender.send(function(*arguments))
    os._exit(0)  # otherwise threads left by a defect would delay the exit


def table(rows: list[Row]) -> list[str]:
    """Return one line for each defect."""
    lines = ["| defect | clause that names it | gem | Gymnasium |", "|---|---|---|---|"]
    return lines + [f"| {row.defect} | `{row.clause}` | {mark(row.gem)} | {mark(row.gymnasium)} |" for row in rows]


def by_group(rows: list[Row]) -> list[str]:
    """Return the number of defects that each kit caught, by group of clauses."""
    lines = ["| group | defects | gem | Gymnasium |", "|---|---|---|---|"]
    groups = dict.fromkeys(row.clause.partition(".")[0] for row in rows)
    for group in groups:
        own = [row for row in rows if row.clause.startswith(f"{group}.")]
        lines.append(f"| {group} | {len(own)} | {caught(own, 'gem')} | {caught(own, 'gymnasium')} |")
    return [*lines, f"| **all** | {len(rows)} | {caught(rows, 'gem')} | {caught(rows, 'gymnasium')} |"]


def cells(lines: list[str]) -> list[list[str]]:
    """Return the cells of a table's lines, without the line below the head."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[:1] + lines[2:]]


def summary(rows: list[Row], noise: list[str]) -> str:
    """Return the result in one sentence."""
    return (
        f"Of {len(rows)} planted defects gem's kit catches {caught(rows, 'gem')} by the clause that names them, and "
        f"Gymnasium {gymnasium.__version__}'s check_env catches {caught(rows, 'gymnasium')}. What the latter says of "
        f"the healthy environments ({len(noise)} warnings) does not count."
    )


def caught(rows: list[Row], kit: str) -> int:
    """Return the number of defects that a kit caught."""
    return sum(bool(getattr(row, kit)) for row in rows)


def mark(found: str) -> str:
    """Return the table's cell for a kit's finding."""
    return "caught" if found else "–"


def progress(text: str) -> None:
    """Show the progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text} ", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
