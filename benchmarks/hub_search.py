"""Search and sync of the hub's client on a hub of 100,000 made-up packages.

    python benchmarks/hub_search.py [--packages 100000] [--folder DIR] [--gem COMMAND]

The packages are the same in every run. The hub is a folder under ``--folder`` (default: a temporary one), served on
127.0.0.1; the bytes are counted at the socket, headers included. Times are CPU milliseconds.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOPICS = """
algebra arithmetic board browser calendar chemistry chess circuits clinic code cooking crossword crypto dialogue
driving economics email factory farming finance fitness garden geography geometry grammar graph grid history insurance
inventory law logic logistics market math maze medicine music navigation negotiation network news number ocean office
optics paper parser physics planning poetry poker proof protein puzzle quiz recipe retail river robot routing sales
science search security sorting space spelling spreadsheet sql star story strategy sudoku terminal theorem ticket tile
trading traffic translation travel trivia tutor vision weather web wiki word
""".split()  # noqa: SIM905
PLAIN = """
agent agents answer answers asks based before between board book build by calls check choose city collect common
compare correct count data day each end every few find first follow for from game give goal good hidden in is item
items keep large last learn letter line list long look make many more most move moves multi new of on one only or
order other over own part pay plan play points question rate read reply reward right rule rules scene second see short
simple small solve some start state step steps task tasks ten text that the then time to tool tools turn turns two
under use value way while with without world write
""".split()  # noqa: SIM905
STARTS = """
b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sh sk sl sm sn sp st t th tr v w z
""".split()  # noqa: SIM905
MIDDLES = """a ai au e ea ee i ia o oa oo ou u y""".split()  # noqa: SIM905
ENDS = ["", "", "", *"b ck d g l ll m n nd ng nt p r rd rn s ss st t x".split()]  # noqa: SIM905
NEEDS = ("docker", "network", "gpu", "browser")


class World:
    """The made-up packages, which are the same in every run with the same number."""

    def __init__(self, packages: int) -> None:
        self.rng = random.Random(20261121)
        vocabulary = {self._coin() for _ in range(max(200, packages // 3))}
        self.vocabulary = sorted(vocabulary)
        self.rng.shuffle(self.vocabulary)
        # As in real names, a few words are common and most are rare.
        self.weights = [1 / (rank + 20) for rank in range(len(self.vocabulary))]
        self._drawn: list[str] = []
        names: dict[str, None] = {}
        while len(names) < packages:
            names[self._name()] = None
        self.names = list(names)
        self.lines = {name: self.line(name, serial) for serial, name in enumerate(self.names, 1)}

    def line(self, name: str, serial: int) -> dict[str, Any]:
        """Return a new line of the catalogue for a package."""
        rng = self.rng
        namespace = rng.choice(TOPICS) if rng.random() < 0.7 else name.replace("gem-envs-", "").replace("-", "")[:20]
        tags = rng.sample(TOPICS, rng.randint(1, 3))
        environments = [
            {
                "id": f"{namespace}:{self._camel(name, number)}-v{rng.choice((0, 0, 0, 1, 2))}",
                "description": f"{self._sentence(rng.randint(3, 6))}.",
                "tags": rng.sample(tags, 1),
                "requires": [rng.choice(NEEDS)] if rng.random() < 0.1 else [],
                "turns": rng.choice(("single", "multi")),
                "variants": ["easy", "hard"] if rng.random() < 0.5 else [],
            }
            for number in range(rng.choice((1, 1, 1, 1, 2)))
        ]
        return {
            "name": name,
            "version": f"{rng.randint(0, 3)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}",
            "summary": f"{self._sentence(rng.randint(5, 8))}.",
            "tags": tags,
            "environments": environments,
            "requires_python": ">=3.10",
            "requires_gem_core": ">=0.1,<0.2",
            "licence": rng.choice(("Apache-2.0", "MIT", "BSD-3-Clause")),
            "published": f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:00:00Z",
            "status": "active",
            "reason": "",
            "conformance": {"gem_core": "0.1.0", "holds": 57, "violated": 0, "not_tested": 0},
            "yanked": {},
            "mode": "link",
            "page_sha256": rng.randbytes(32).hex(),
            "serial": serial,
        }

    def change(self, rng: random.Random, serial: int, count: int) -> list[dict[str, Any]]:
        """Give that many packages new lines, and return these."""
        changed = [self.line(name, serial + number) for number, name in enumerate(rng.sample(self.names, count), 1)]
        self.lines.update({line["name"]: line for line in changed})
        return changed

    def _coin(self) -> str:
        syllables = self.rng.choice((2, 2, 3, 3, 4))
        choose = self.rng.choice
        return "".join(choose(STARTS) + choose(MIDDLES) for _ in range(syllables)) + choose(ENDS)

    def _word(self) -> str:
        if not self._drawn:
            self._drawn = self.rng.choices(self.vocabulary, self.weights, k=10_000)
        return self._drawn.pop()

    def _name(self) -> str:
        form = self.rng.random()
        if form < 0.25:
            parts = [self._word()]
        elif form < 0.6:
            parts = [self._word(), self._word()]
        elif form < 0.9:
            parts = [self.rng.choice(TOPICS), self._word()]
        else:
            parts = [self._word(), self.rng.choice(TOPICS), self._word()]
        return ("gem-envs-" if self.rng.random() < 0.7 else "") + "-".join(parts)[:50]

    def _camel(self, name: str, number: int) -> str:
        parts = name.removeprefix("gem-envs-").split("-") if number == 0 else [self._word(), self.rng.choice(TOPICS)]
        return "".join(part.capitalize() for part in parts)

    def _sentence(self, length: int) -> str:
        draw = self.rng.random
        chosen = [
            self._word() if draw() < 0.12 else self.rng.choice(TOPICS if draw() < 0.2 else PLAIN) for _ in range(length)
        ]
        return " ".join(chosen).capitalize()


def mistyped(word: str, rng: random.Random) -> str:
    """Return a word with one letter too many, too few or wrong, or two neighbours swapped; never the word itself."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    while True:
        place = rng.randrange(len(word))
        kind = rng.randrange(4)
        if kind == 0:
            other = word[:place] + word[place + 1 :]
        elif kind == 1:
            other = word[:place] + rng.choice(letters) + word[place:]
        elif kind == 2:
            other = word[:place] + rng.choice(letters) + word[place + 1 :]
        else:
            other = word[:place] + word[place : place + 2][::-1] + word[place + 2 :]
        if other != word:
            return other


_USAGE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = os.wait4(process.pid, 0)[2]
print((used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss)
"""
"""Runs a command, and prints the CPU milliseconds that it has used and its most kB in memory."""


@dataclass
class FolderHub:
    """A hub's root and catalogue, written by the simplest code that follows the format."""

    folder: Path
    serial: int = 0

    def write(self, path: str, lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Write one file of lines; return its entry in root.json."""
        texts = [json.dumps(line, sort_keys=True, separators=(",", ":")) for line in lines]
        packed = gzip.compress("".join(f"{text}\n" for text in texts).encode(), mtime=0)
        digest = hashlib.sha256(packed).hexdigest()
        target = self.folder / f"{path}-{digest[:12]}.jsonl.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(packed)
        return {"url": target.relative_to(self.folder).as_posix(), "sha256": digest, "size": len(packed)}

    def begin(self, lines: Iterable[dict[str, Any]], serial: int) -> None:
        """Write the snapshot and a root.json without segments."""
        self.serial = serial
        self.snapshot = {**self.write(f"catalog/snapshot-{serial}", lines), "serial": serial}
        self.segments: list[dict[str, Any]] = []
        self.write_root()

    def append(self, lines: list[dict[str, Any]]) -> None:
        """Add a segment."""
        first, self.serial = self.serial + 1, self.serial + len(lines)
        entry = self.write(f"catalog/seg-{first}-{self.serial}", sorted(lines, key=lambda line: str(line["name"])))
        self.segments.append({**entry, "from": first, "to": self.serial})
        self.write_root()

    def write_root(self) -> None:
        root = {
            "format": 1,
            "serial": self.serial,
            "created": "2026-11-21T00:00:00Z",
            "snapshot": self.snapshot,
            "segments": self.segments,
            "simple_api": "1.4",
        }
        (self.folder / "root.json").write_text(json.dumps(root, sort_keys=True) + "\n")


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder with ETags, and counts the bytes."""

    counts: list[int]
    answers: list[int]

    def setup(self) -> None:
        super().setup()
        read, write, counts = self.rfile, self.wfile, self.counts

        class Counted:
            def readline(self, *arguments: Any) -> bytes:
                data = read.readline(*arguments)
                counts[0] += len(data)
                return bytes(data)

            def write(self, data: bytes) -> int:
                counts[0] += len(data)
                return write.write(data)

            def __getattr__(self, name: str) -> Any:
                return getattr(write, name)

        self.rfile = self.wfile = Counted()  # type: ignore[assignment]

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        if not path.is_file():  # such as the signed metadata of this hub, which has no keys
            self.answers.append(404)
            self.send_error(404)
            return None
        etag = f'"{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"'
        if self.headers.get("If-None-Match") == etag:
            self.answers.append(304)
            self.send_response(304)
            self.send_header("ETag", etag)
            self.end_headers()
            return None
        self.answers.append(200)
        self.etag = etag
        return super().send_head()

    def end_headers(self) -> None:
        if hasattr(self, "etag"):
            self.send_header("ETag", self.etag)
        super().end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, list[int], list[int]]]:
    """Serve a folder; yield its address, the bytes so far, and the answers so far."""
    counts, answers = [0], []
    kind = type("CountingHandler", (Handler,), {"counts": counts, "answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", counts, answers
    finally:
        server.shutdown()
        server.server_close()


def cpu_of(call: Callable[[], Any]) -> float:
    """Return the CPU milliseconds of a call in this thread."""
    began = time.thread_time()
    call()
    return (time.thread_time() - began) * 1000


def cpu_of_command(command: list[str], environment: dict[str, str]) -> float:
    """Return the CPU milliseconds of a whole process."""
    return usage_of_command(command, environment)[0]


def usage_of_command(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the CPU milliseconds of a whole process, and the most bytes that it had in memory.

    A small process starts it: what this one has in memory would count as its own from before it ran anything.
    """
    measured = [sys.executable, "-c", _USAGE, *command]
    told = subprocess.run(measured, env=environment, capture_output=True, text=True, check=True).stdout
    milliseconds, kilobytes = told.split()
    return float(milliseconds), float(kilobytes) * 1024


def percentile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def queries(world: World, rng: random.Random, count: int) -> dict[str, list[tuple[str, str]]]:
    """Return queries by kind, each with its intended package (or none)."""
    kinds: dict[str, list[tuple[str, str]]] = {}

    def pick() -> dict[str, Any]:
        return world.lines[rng.choice(world.names)]

    def short(line: dict[str, Any]) -> str:
        return str(line["name"]).removeprefix("gem-envs-")

    def typo(text: str) -> str:
        parts = text.split(" ")
        long = [number for number, part in enumerate(parts) if len(part) >= 4]
        number = rng.choice(long)
        parts[number] = mistyped(parts[number], rng)
        return " ".join(parts)

    chosen = [pick() for _ in range(count)]
    kinds["name"] = [(short(line), line["name"]) for line in chosen]
    kinds["environment id"] = [(line["environments"][0]["id"], line["name"]) for line in chosen]
    kinds["name and tag"] = [(f"{short(line).replace('-', ' ')} {line['tags'][0]}", line["name"]) for line in chosen]
    kinds["beginning of a name"] = [(short(line)[:4], "") for line in chosen]
    kinds["one or two letters"] = [(short(line)[: rng.choice((1, 2))], "") for line in chosen]
    kinds["topic"] = [(rng.choice(TOPICS), "") for _ in range(count)]
    kinds["two topics"] = [(" ".join(rng.sample(TOPICS, 2)), "") for _ in range(count)]
    kinds["a sentence"] = [(" ".join(line["summary"].split()[:6]), "") for line in chosen]
    kinds["nothing has it"] = [
        (rng.randbytes(5).hex().translate(str.maketrans("0123456789", "qwzxjkvyhg")), "") for _ in range(count)
    ]
    kinds["typo: name"] = [(typo(short(line).replace("-", " ")), line["name"]) for line in chosen]
    kinds["typo: environment"] = [
        (mistyped(line["environments"][0]["id"].partition(":")[2].partition("-")[0].lower(), rng), line["name"])
        for line in chosen
    ]
    kinds["typo: name and tag"] = [(typo(query), name) for query, name in kinds["name and tag"]]
    return kinds


def measure_searches(world: World, count: int) -> None:
    """Print CPU and hits of queries of every kind, in one process."""
    from gem_hub_client.catalogue_cache import open_catalogue
    from gem_hub_client.config import hubs
    from gem_hub_client.search import search

    (hub,) = hubs()
    everything: list[float] = []
    found_typos: list[bool] = []
    print(f"\n| {count} queries each | p50 | p99 | first | in ten |\n|---|---|---|---|---|")
    with open_catalogue(hub, offline=True) as opened:
        for query in TOPICS[:20]:
            search(opened.catalogue, query)
        for kind, asked in queries(world, random.Random(7), count).items():
            times, ranks = [], []
            for query, meant in asked:
                answers: list[Any] = []
                times.append(
                    cpu_of(lambda query=query, answers=answers: answers.append(search(opened.catalogue, query)))
                )
                names = [hit.record["name"] for hit in answers[0].hits]
                ranks.append(names.index(meant) if meant in names else 1000)
            everything += times
            line = f"| {kind} | {statistics.median(times):.1f} | {percentile(times, 0.99):.1f} |"
            if asked[0][1]:
                first, ten = (sum(rank < limit for rank in ranks) / count for limit in (1, 10))
                line += f" {first:.3f} | {ten:.3f} |"
            else:
                line += " | |"
            if kind.startswith("typo"):
                found_typos += [rank < 10 for rank in ranks]
            print(line, flush=True)
    print(f"| all | {statistics.median(everything):.1f} | {percentile(everything, 0.99):.1f} | | |")
    verdict("warm search, p99, CPU ms", percentile(everything, 0.99), 50)
    verdict("one typo: share not in the first ten", 1 - sum(found_typos) / len(found_typos), 0.05)


def measure_cold(command: list[str], world: World, environment: dict[str, str]) -> None:
    """Print the CPU of whole commands."""
    name = world.names[12345 % len(world.names)]
    asked = {
        "a name": name,
        "a topic": "sudoku",
        "two words, one mistyped": f"{mistyped(name.rpartition('-')[2], random.Random(1))} puzzle",
    }
    commands = {
        f"search: {kind} ({query!r})": [*command, "hub", "search", *query.split()] for kind, query in asked.items()
    }
    of_which = {"Python alone": "pass", "and click": "import click", "and the command table": "import gem_cli.main"}
    worst = 0.0
    print("\n| a new process | CPU ms, median of 15 | smallest | largest |\n|---|---|---|---|")
    for kind, whole in {**commands, **{kind: [sys.executable, "-c", code] for kind, code in of_which.items()}}.items():
        cpu_of_command(whole, environment)  # which writes the bytecode of what it imports
        times = [cpu_of_command(whole, environment) for _ in range(15)]
        print(f"| {kind} | {statistics.median(times):.0f} | {min(times):.0f} | {max(times):.0f} |", flush=True)
        worst = max(worst, statistics.median(times))
    verdict("cold search, CPU ms", worst, 150)


def verdict(what: str, value: float, goal: float) -> None:
    """Print a figure and whether it meets its goal."""
    print(f"**{what}: {value:.4g}, goal {goal:g}: {'met' if value <= goal else 'MISSED'}**\n", flush=True)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300, help="of each kind")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--gem", default=f"{shlex.quote(sys.executable)} -m gem", help="the command to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        began = time.process_time()
        world = World(options.packages)
        hub = FolderHub(folder / "hub")
        hub.begin((world.lines[name] for name in sorted(world.lines)), len(world.lines))
        print(f"made {len(world.lines):,} packages in {time.process_time() - began:.0f} CPU s")
        with serving(hub.folder) as (address, counts, answers):
            os.environ["GEM_HUB"] = address
            command = shlex.split(options.gem)
            measure_sync(command, world, hub, counts, answers)
            kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            measure_cold(command, world, kept)
            measure_searches(world, options.queries)


def measure_sync(command: list[str], world: World, hub: FolderHub, counts: list[int], answers: list[int]) -> None:
    """Print the cost of the first load, of no change and of a day's changes."""
    from gem_hub.plan import plan
    from gem_hub_client.config import hubs
    from gem_hub_client.sync import update

    (client,) = hubs()

    def timed(what: str) -> int:
        counts[0] = 0
        answers.clear()
        outcome: list[Any] = []
        cpu = cpu_of(lambda: outcome.append(update(client)))
        row(what, outcome[0].changed, cpu, "")
        return counts[0]

    def row(what: str, lines: int, cpu: float, megabytes: str) -> None:
        asked = f"{len(answers)} ({', '.join(map(str, sorted(set(answers))))})"
        wire = f"{counts[0] / 1000:,.1f}"
        print(f"| {what} | {lines:,} | {asked} | {wire} | {cpu / 1000:.2f} | {megabytes} |", flush=True)

    print("\n| sync | lines | requests | kB on the wire | CPU s | MB |\n|---|---|---|---|---|---|")
    cpu, resident = usage_of_command([*command, "hub", "update"], dict(os.environ))
    size = sum(path.stat().st_size for path in client.cache.glob("*.sqlite"))
    memory = f"memory {resident / 1e6:.0f}, database {size / 1e6:.0f}"
    row("first load, a process of its own", len(world.lines), cpu, memory)
    timed("no change")
    assert answers == [304], answers
    rng = random.Random(3)
    changed = world.change(rng, hub.serial, 500)
    hub.append(changed)
    timed("500 updates in one segment")
    # As gem-hub lays the changes out: in finished blocks, merged the more the older they are, so that a client also
    # loads some that it has. Of many days, the one on which that is the most.
    days = [hub.serial + number for number in range(0, 20_000, 37)]
    day = max(days, key=lambda start: sum(s.last - s.first + 1 for s in plan(start + 500).segments if s.last > start))
    hub.begin((world.lines[name] for name in sorted(world.lines)), day)
    timed("(a new snapshot)")
    segments = [segment for segment in plan(day + 500).segments if segment.last > day]
    hub.serial = segments[0].first - 1
    for segment in segments:
        hub.append(world.change(rng, hub.serial, segment.last - hub.serial))
    verdict("the worst of many days of 500 updates, kB", timed(f"500 updates in {len(segments)} segments") / 1000, 100)


if __name__ == "__main__":
    main()
