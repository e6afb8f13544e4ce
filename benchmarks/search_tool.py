"""Measures the search tool: writing an index, searching it, starting again, and the server under load.

    python benchmarks/search_tool.py [--documents 100000] [--rounds 5] [--original PYTHON] [--only index,server,client]
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/search_tool.py --only dense,grown

The corpus is made here: documents of 40 words, and a title of two, from 50,000 words whose frequencies follow Zipf's
law; queries are five such words, so that most contain words of nearly every document. CPU seconds are those
of the measured thread or process; memory is the largest resident set of the whole process, Python included,
with those pages of the index that it has touched. The load on the server comes from this script, on the same
processors: requests are sent at fixed times over 64 connections, whether or not earlier ones were answered, and a
latency counts from the time at which its request was due. With `--original`, the search tool of the original GEM
(`gem-llm`) and this one search through the same server, in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

WORDS = 50_000

INDEXING = """
import json, resource, sys, time
from gem_tools.search import local_index
wall, cpu = time.perf_counter(), time.process_time()
index = local_index(sys.argv[1], sys.argv[2])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "documents": len(index)}))
"""

STARTING = """
import json, sys, time
from gem_tools.search import local_index
wall = time.perf_counter()
index = local_index(sys.argv[1], sys.argv[2])
index.search(sys.argv[3], 5)
print(json.dumps({"wall": time.perf_counter() - wall}))
"""

SEARCHING = """
import json, resource, sys, time
from gem_tools.search import local_index
index = local_index(sys.argv[1], sys.argv[2])
times = []
for query in sys.stdin.read().splitlines():
    begin = time.thread_time()
    index.search(query, 5)
    times.append(time.thread_time() - begin)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"times": times, "peak": peak}))
"""

CLIENT = """
import json, sys, time
if sys.argv[1] == "ours":
    from gem_tools import SearchTool
    search = SearchTool(search_url=sys.argv[2]).respond
else:
    from gem.tools.search_tool import SearchTool
    search = SearchTool(search_url=sys.argv[2]).execute_action
queries = sys.stdin.read().splitlines()
search(f"<search>{queries[0]}</search>")
wall, cpu = time.perf_counter(), time.process_time()
for query in queries:
    answer = search(f"<search>{query}</search>")
    assert "Doc 1(" in str(answer), answer
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps({"wall": wall / len(queries), "cpu": cpu / len(queries)}))
"""


class Zipf:
    """Words with the frequencies of a language."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        words = random.Random(0)
        self.words = ["".join(words.choices(letters, k=words.randint(3, 9))) for _ in range(WORDS)]
        self.weights = list(itertools.accumulate(1 / rank for rank in range(1, WORDS + 1)))

    def text(self, count: int) -> str:
        return " ".join(self.rng.choices(self.words, cum_weights=self.weights, k=count))


def write_corpus(path: Path, documents: int) -> None:
    """Write a corpus of Search-R1's form."""
    words = Zipf(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            contents = f'"{words.text(2)}"\n{words.text(40)}'
            file.write(json.dumps({"id": str(number), "contents": contents}) + "\n")


def asked(count: int, seed: int) -> list[str]:
    """Return queries."""
    words = Zipf(seed)
    return [words.text(5) for _ in range(count)]


def run(code: str, *arguments: object, given: str = "", python: str = sys.executable) -> dict[str, Any]:
    """Return the output of a process of its own as JSON."""
    done = subprocess.run(
        [python, "-c", code, *map(str, arguments)], input=given, stdout=subprocess.PIPE, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def row(name: str, values: list[float], unit: str, goal: float | None = None, form: str = ".1f") -> str:
    """Return a row of a table: the median of the rounds, their range, and whether the goal is met."""
    median = statistics.median(values)
    spread = f"{min(values):{form}} … {max(values):{form}}"
    met = "" if goal is None else "yes" if median < goal else "**no**"
    return f"| {name} | {median:{form}} {unit} ({spread}) | {'' if goal is None else f'< {goal:g} {unit}'} | {met} |"


def index_table(corpus: Path, folder: Path, rounds: int) -> Iterator[str]:
    """Yield the table of writing, searching and opening an index."""
    built = []
    for number in range(rounds):
        index = folder / f"index-{number}"
        built.append(run(INDEXING, corpus, index))
    starts = [run(STARTING, corpus, index, "word")["wall"] for _ in range(rounds)]
    searches = [run(SEARCHING, corpus, index, given="\n".join(asked(2000, seed))) for seed in range(rounds)]
    quantiles = [[1000 * q for q in statistics.quantiles(item["times"], n=100)] for item in searches]
    yield f"{built[0]['documents']:,} documents, {corpus.stat().st_size / 1e6:.0f} MB; {rounds} rounds of 2,000 queries"
    yield ""
    yield "| | median (range of the rounds) | goal | met |"
    yield "|---|---|---|---|"
    yield row("writing the index, wall", [item["wall"] for item in built], "s", 20)
    yield row("writing the index, CPU", [item["cpu"] for item in built], "s")
    yield row("peak memory while writing", [item["peak"] for item in built], "MB", 100, ".0f")
    yield row("opening it again, with a first search, wall", starts, "s", 0.1, ".4f")
    yield row("query, p50 of CPU", [item[49] for item in quantiles], "ms", None, ".2f")
    yield row("query, p99 of CPU", [item[98] for item in quantiles], "ms", 10, ".2f")
    yield row("peak memory while searching", [item["peak"] for item in searches], "MB", 100, ".0f")


@contextmanager
def serving(corpus: Path, index: Path, workers: int) -> Iterator[tuple[str, int]]:
    """Run the server, and yield its address and process."""
    command = [sys.executable, "-m", "gem", "search-server", "--corpus", corpus, "--index", index, "--port", "0"]
    process = subprocess.Popen([*command, "--json", "--workers", str(workers)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], process.pid
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process and its children so far, from ``/proc`` (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_seconds(int(child)) for child in children)


class Connection:
    """One connection, kept alive; one request at a time."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self.host, self.port = place.hostname, place.port
        self.lock = asyncio.Lock()

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    async def ask(self, query: str) -> bool:
        """Return whether the answer has five documents, or all there are."""
        body = json.dumps({"queries": [query], "topk": 5, "return_scores": True}).encode()
        head = (
            f"POST /retrieve HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        )
        self.writer.write(head.encode() + b"\r\n" + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in answer.lower().split(b"\r\n")[1:] if line)
        content = await self.reader.readexactly(int(fields[b"content-length"]))
        return answer.startswith(b"HTTP/1.1 200") and len(json.loads(content)["result"][0]) > 0


async def steady(url: str, rate: float, seconds: float, queries: list[str]) -> dict[str, Any]:
    """Send requests at fixed times."""
    pool = [Connection(url) for _ in range(64)]
    await asyncio.gather(*(connection.open() for connection in pool))
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in pool:
        free.put_nowait(connection)
    latencies: list[float] = []
    lost = 0
    begin = time.perf_counter() + 0.1

    async def one(number: int) -> None:
        nonlocal lost
        due = begin + number / rate
        await asyncio.sleep(due - time.perf_counter())
        try:
            connection = await asyncio.wait_for(free.get(), 10)
            if await asyncio.wait_for(connection.ask(queries[number % len(queries)]), 10):
                latencies.append(time.perf_counter() - due)
            else:
                lost += 1
            free.put_nowait(connection)
        except (OSError, EOFError, asyncio.TimeoutError):
            lost += 1

    count = int(rate * seconds)
    await asyncio.gather(*(one(number) for number in range(count)))
    taken = time.perf_counter() - begin
    return {"sent": count, "lost": lost, "latencies": latencies, "rate": len(latencies) / max(taken, seconds)}


async def flat_out(url: str, seconds: float, queries: list[str]) -> float:
    """Return requests per second with 64 connections, each of which sends its next request after an answer."""
    end = time.perf_counter() + seconds
    answered = 0

    async def one(offset: int) -> None:
        nonlocal answered
        connection = Connection(url)
        await connection.open()
        for number in itertools.count(offset):
            if time.perf_counter() > end:
                connection.writer.close()
                return
            right = await connection.ask(queries[number % len(queries)])
            answered += right  # not in one line, which would read the count before it waits

    await asyncio.gather(*(one(101 * number) for number in range(64)))
    return answered / seconds


def server_table(corpus: Path, index: Path, seconds: float) -> Iterator[str]:
    """Yield the table of the server's figures under a steady load and under the full load."""
    yield "| workers | load | answered | lost | p50 | p99 | slowest | the server's CPU for each |"
    yield "|---|---|---|---|---|---|---|---|"
    queries = asked(5000, 99)
    for workers in (1, 2):
        with serving(corpus, index, workers) as (url, pid):
            asyncio.run(flat_out(url, 1, queries))
            for rate in (300, 600):
                before = cpu_seconds(pid)
                result = asyncio.run(steady(url, rate, seconds, queries))
                times = statistics.quantiles([1000 * latency for latency in result["latencies"]], n=100)
                slowest = 1000 * max(result["latencies"])
                answered = f"{result['sent'] - result['lost']:,} of {result['sent']:,} | {result['lost']}"
                took = f"{times[49]:.1f} ms | {times[98]:.1f} ms | {slowest:.0f} ms"
                each = 1000 * (cpu_seconds(pid) - before) / len(result["latencies"])
                yield f"| {workers} | {rate} a second for {seconds:g} s | {answered} | {took} | {each:.2f} ms |"
            before = cpu_seconds(pid)
            most = asyncio.run(flat_out(url, seconds, queries))
            each = 1000 * (cpu_seconds(pid) - before) / (most * seconds)
            yield f"| {workers} | 64 clients, flat out | {most:,.0f} a second | | | | | {each:.2f} ms |"


def client_table(corpus: Path, index: Path, original: str | None, rounds: int) -> Iterator[str]:
    """Yield the table of a search's cost for the calling process."""
    yield "| tool | CPU for each search | wall | times less CPU |"
    yield "|---|---|---|---|"
    ours, theirs = [], []
    with serving(corpus, index, 1) as (url, _):
        for seed in range(rounds):
            given = "\n".join(asked(300, 1000 + seed))
            ours.append(run(CLIENT, "ours", url, given=given))
            if original:
                theirs.append(run(CLIENT, "theirs", url, given=given, python=original))
    for name, results in (("ours", ours), ("original", theirs)):
        if results:
            cpu, wall = ([1000 * item[what] for item in results] for what in ("cpu", "wall"))
            ratios = (
                [b["cpu"] / a["cpu"] for a, b in zip(ours, theirs, strict=True)] if name == "ours" and theirs else []
            )
            less = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} … {max(ratios):.1f})" if ratios else ""
            yield f"| {name} | {statistics.median(cpu):.2f} ms | {statistics.median(wall):.2f} ms | {less} |"


class _Rows:
    """An embedding whose texts are numbers of rows."""

    name = "rows"

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return self.rows[[int(text) for text in texts]]

    embed_passages = embed_queries


def dense_table(documents: int, rounds: int, folder: Path) -> Iterator[str]:
    """Yield the table of exact searches by vectors of 384 dimensions, of ours and of the libraries that are there."""
    import numpy as np

    from gem_tools.search.corpus import Document
    from gem_tools.search.dense import DenseFormat

    generator = np.random.default_rng(0)
    rows = generator.standard_normal((documents + 300, 384), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    corpus, queries = rows[:documents], rows[documents:]
    index = DenseFormat(_Rows(rows)).write((Document(str(n), str(n)) for n in range(documents)), folder)
    engines: dict[str, Callable[[int], object]] = {"ours": lambda n: index.search(str(documents + n), 10)}
    with suppress(ImportError):
        import faiss

        flat = faiss.IndexFlatIP(384)
        flat.add(corpus)
        engines["faiss, IndexFlatIP"] = lambda n: flat.search(queries[n : n + 1], 10)
    with suppress(ImportError):
        from usearch.index import MetricKind, search

        engines["usearch, exact"] = lambda n: search(corpus, queries[n], 10, MetricKind.IP, exact=True, threads=1)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, engine in engines.items():
            times = []
            for number in range(len(queries)):
                begin = time.process_time()
                engine(number)
                times.append(1000 * (time.process_time() - begin))
            found[name].append((statistics.median(times), statistics.quantiles(times, n=100)[98]))
    yield f"| {documents:,} vectors of 384 dimensions, exact top 10, CPU | p50 | p99 (range of {rounds} rounds) |"
    yield "|---|---|---|"
    for name, rounds_of_one in found.items():
        middle, late = zip(*rounds_of_one, strict=True)
        yield (
            f"| {name} | {statistics.median(middle):.1f} ms | {statistics.median(late):.1f} ms "
            f"({min(late):.1f} … {max(late):.1f}) |"
        )


def grown_table(corpus: Path, folder: Path, rounds: int) -> Iterator[str]:
    """Yield the table of what it costs to open an index after ten documents were added to a corpus."""
    from gem_tools.search import open_index

    measured: dict[tuple[str, str], list[tuple[float, float]]] = {}
    documents = corpus.read_bytes().count(b"\n")
    for engine in ("bm25", "dense"):
        for number in range(rounds):
            path, root = folder / f"grown-{engine}-{number}.jsonl", folder / f"grown-{engine}-{number}"
            path.write_bytes(corpus.read_bytes())
            embedder = None if engine == "bm25" else _Letters()
            for what in ("made from scratch", "after 10 more documents"):
                wall, cpu = time.perf_counter(), time.process_time()
                index = open_index(path, engine, embedder, root)
                taken = time.perf_counter() - wall, time.process_time() - cpu
                measured.setdefault((engine, what), []).append(taken)
                with path.open("a", encoding="utf-8") as file:
                    for more in range(10):
                        file.write(json.dumps({"id": f"more{more}", "contents": f'"more"\nnew {more}'}) + "\n")
            assert len(index) == documents + 10
    yield f"| an index over {documents:,} documents | CPU (range of {rounds} rounds) | wall |"
    yield "|---|---|---|"
    for (engine, what), times in measured.items():
        walls, cpus = zip(*times, strict=True)
        spread = f"{min(cpus):.2f} … {max(cpus):.2f}"
        yield f"| {engine}, {what} | {statistics.median(cpus):.2f} s ({spread}) | {statistics.median(walls):.2f} s |"


class _Letters:
    """An embedding of 384 dimensions that costs next to nothing."""

    name = "letters"

    def embed_queries(self, texts: Sequence[str]) -> Any:
        import numpy as np

        rows = np.zeros((len(texts), 384), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            data = np.frombuffer(text.encode()[:384], dtype=np.uint8)
            row[: len(data)] = data
        return rows

    embed_passages = embed_queries


def main() -> None:
    """Measure the chosen parts and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each load on the server")
    parser.add_argument("--original", metavar="PYTHON", help="interpreter that has gem-llm")
    parser.add_argument("--only", default="index,server,client", help="parts, joined by commas")
    options = parser.parse_args()
    parts = options.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, index, vectors = folder / "corpus.jsonl", folder / "index", folder / "vectors"
        vectors.mkdir()
        if parts != ["dense"]:
            write_corpus(corpus, options.documents)
        tables = {
            "index": lambda: index_table(corpus, folder, options.rounds),
            "server": lambda: server_table(corpus, index, options.seconds),
            "client": lambda: client_table(corpus, index, options.original, options.rounds),
            "dense": lambda: dense_table(options.documents, options.rounds, vectors),
            "grown": lambda: grown_table(corpus, folder, options.rounds),
        }
        for part in parts:
            for line in tables[part]():
                print(line, flush=True)
            print()


if __name__ == "__main__":
    main()
