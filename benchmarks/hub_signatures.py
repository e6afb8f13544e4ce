"""What signatures cost the hub's client and its registry: the same hub with and without them, in turns.

    python benchmarks/hub_signatures.py [--packages 100000] [--pairs 3]

The packages are those of ``hub_search.py``; every hub is served on 127.0.0.1, and bytes are counted at the socket. Each
figure is CPU milliseconds, the median of the pairs and the smallest and largest of them. Needs the package gem-hub.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import hub_search

sys.path.append(str(Path(__file__).parents[1] / "hub" / "tests"))

from toy_hub import make_wheel, publish_wheel

from gem_hub.signing import log, roots
from gem_hub.signing.keys import create_key
from gem_hub.signing.online import new_online_key, sign_changes
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.catalogue_cache import open_catalogue
from gem_hub_client.config import Hub, hub_at
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.search import search
from gem_hub_client.sync import update
from gem_hub_client.trust.records import check_recorded

KINDS = ("unsigned", "signed")


class SignedHub(hub_search.FolderHub):
    """A hub whose every change is signed, with a log of as many made-up entries as it has changes."""

    def write_root(self) -> None:
        super().write_root()
        files = HubFolder(self.folder)
        if roots.newest_root(files) is None:
            key = create_key(self.folder.with_name("root.pem"))
            root = roots.first_root([key.public_key], 1, new_online_key(files), 365)
            roots.sign_root(root, [key])
            files.create("trust/1.root.json", roots.dumped(root))
        known = getattr(self, "logged", 0)
        entries = [b"entry %d" % number for number in range(known, self.serial)]
        with mock.patch.object(log, "_new_entries", return_value=entries):
            sign_changes(files)
        self.logged = self.serial


def shown(values: list[float]) -> str:
    """Return median, smallest and largest."""
    return f"{statistics.median(values):,.1f} ({min(values):,.1f} to {max(values):,.1f})"


def in_turns(name: str, pairs: int, measure: dict[str, Callable[[], float]]) -> None:
    """Print one line: each kind's figures, taken in turns, and the median of their differences."""
    values: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(pairs):
        for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
            values[kind].append(measure[kind]())
    differences = [after - before for before, after in zip(*values.values(), strict=True)]
    print(
        f"{name:38} {shown(values['unsigned']):>30} {shown(values['signed']):>30} {shown(differences):>30}", flush=True
    )


def cached(hub: Hub) -> None:
    """Remove what the client has loaded of a hub; its keys stay."""
    shutil.rmtree(hub.cache, ignore_errors=True)


def measure_sync(scratch: Path, packages: int, pairs: int, command: list[str]) -> None:
    """Measure loading, updating and searching a large catalogue."""
    world = hub_search.World(packages)
    folders = {"unsigned": hub_search.FolderHub(scratch / "u" / "hub"), "signed": SignedHub(scratch / "s" / "hub")}
    for folder in folders.values():
        folder.folder.mkdir(parents=True)
        folder.begin(world.lines.values(), packages)
    with (
        hub_search.serving(folders["unsigned"].folder) as plain,
        hub_search.serving(folders["signed"].folder) as signed,
    ):
        served = dict(zip(KINDS, (plain, signed), strict=True))
        hubs = {kind: hub_at(address) for kind, (address, _, _) in served.items()}

        def first(kind: str) -> float:
            cached(hubs[kind])
            return hub_search.cpu_of(lambda: update(hubs[kind]))

        in_turns("first load", max(1, min(pairs, 2)), {kind: lambda kind=kind: first(kind) for kind in KINDS})
        sizes: dict[str, list[str]] = {kind: [] for kind in KINDS}
        changes = random.Random(5)

        def changed(kind: str) -> float:
            _, counts, answers = served[kind]
            before, requests = counts[0], len(answers)
            result = hub_search.cpu_of(lambda: update(hubs[kind]))
            sizes[kind].append(f"{(counts[0] - before) / 1000:.1f} kB in {len(answers) - requests}")
            return result

        def append_and_load(kind: str) -> float:
            if kind == KINDS[0] or not append_and_load.lines:  # type: ignore[attr-defined]
                append_and_load.lines = world.change(changes, folders[kind].serial, 500)  # type: ignore[attr-defined]
            folders[kind].append(append_and_load.lines)  # type: ignore[attr-defined]
            return changed(kind)

        append_and_load.lines = []  # type: ignore[attr-defined]
        for _ in range(pairs):
            in_turns("500 updates", 1, {kind: lambda kind=kind: append_and_load(kind) for kind in KINDS})
        print("  bytes:", {kind: sizes[kind] for kind in KINDS})
        for kind in KINDS:
            sizes[kind].clear()
        in_turns("no change", pairs * 4, {kind: lambda kind=kind: changed(kind) for kind in KINDS})
        print(
            "  bytes:", {kind: sizes[kind][-1] for kind in KINDS}, "\n  answers:", {k: served[k][2][-2:] for k in KINDS}
        )
        words = [world.lines[name]["summary"].split()[0] for name in random.Random(7).sample(world.names, 100)]

        def warm(kind: str) -> float:
            with open_catalogue(hubs[kind], offline=True) as opened:
                return hub_search.cpu_of(lambda: [search(opened.catalogue, word, 20) for word in words]) / len(words)

        in_turns("a warm search", pairs * 2, {kind: lambda kind=kind: warm(kind) for kind in KINDS})

        def cold(kind: str) -> float:
            environment = {**os.environ, "GEM_HUB": hubs[kind].location}
            return hub_search.cpu_of_command([*command, "hub", "search", words[0]], environment)

        in_turns("a cold gem hub search", pairs * 5, {kind: lambda kind=kind: cold(kind) for kind in KINDS})


def measure_registry(scratch: Path, pairs: int) -> None:
    """Measure publishing a release, and looking one up for an installation."""
    stores = {kind: Store(scratch / f"{kind}-store") for kind in KINDS}
    for store in stores.values():
        publish_wheel(store, make_wheel(scratch / "dist", "some-envs", "0.0.0", ids=["some:Thing-v0"]))
    files = stores["signed"].files
    key = create_key(scratch / "registry.pem")
    root = roots.first_root([key.public_key], 1, new_online_key(files), 365)
    roots.sign_root(root, [key])
    stores["signed"].install_root(1, roots.dumped(root))
    numbers = dict.fromkeys(KINDS, 0)

    def publish(kind: str) -> float:
        numbers[kind] += 1
        wheel = make_wheel(scratch / "dist", "some-envs", f"0.0.{numbers[kind]}", ids=["some:Thing-v0"])
        return hub_search.cpu_of(lambda: publish_wheel(stores[kind], wheel))

    in_turns("publish", pairs * 10, {kind: lambda kind=kind: publish(kind) for kind in KINDS})
    with (
        hub_search.serving(scratch / "unsigned-store") as plain,
        hub_search.serving(scratch / "signed-store") as signed,
    ):
        served = dict(zip(KINDS, (plain, signed), strict=True))

        def resolve(kind: str) -> float:
            hub = hub_at(served[kind][0])
            before = len(served[kind][2])

            def plan() -> None:
                package = PackageIndex([hub]).package("some-envs")
                assert package is not None
                check_recorded(package.releases[:1])

            result = hub_search.cpu_of(plan)
            requests[kind] = len(served[kind][2]) - before
            return result

        requests = dict.fromkeys(KINDS, 0)
        for kind in KINDS:
            update(hub_at(served[kind][0]))
        in_turns("plan an installation", pairs * 5, {kind: lambda kind=kind: resolve(kind) for kind in KINDS})
        print("  requests:", requests)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--gem", default=f"{sys.executable} -m gem", help="The command to measure.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            os.environ[name] = str(scratch / name)
        print(f"{'CPU ms: median (smallest to largest)':38} {'unsigned':>30} {'signed':>30} {'difference':>30}")
        measure_registry(scratch, arguments.pairs)
        measure_sync(scratch, arguments.packages, arguments.pairs, arguments.gem.split())


if __name__ == "__main__":
    main()
