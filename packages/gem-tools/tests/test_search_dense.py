"""Retrieval by vectors and by both words and vectors.

No model can be downloaded here, so the embedding is one of hashed words and trigrams, from a process with OpenAI's
interface (``embedding_server.py``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gem.errors import ArgumentError
from gem_tools.search.batching import Batcher
from gem_tools.search.corpus import Document
from gem_tools.search.dense import DenseFormat, DenseIndex
from gem_tools.search.embeddings import EndpointEmbedder, ModelEmbedder
from gem_tools.search.engine import SearchHit
from gem_tools.search.engines import open_index
from gem_tools.search.errors import SearchError
from gem_tools.search.index import sortable
from gem_tools.search.tool import SearchTool

SERVER = Path(__file__).with_name("embedding_server.py")
CITIES = [
    ("1", "Lima", "Lima is the capital of Peru and lies on the Pacific coast."),
    ("2", "Cusco", "Cusco was the capital of the Inca empire."),
    ("3", "Oslo", "Oslo is the capital of Norway."),
    ("4", "Photography", "A photographer develops photographs in a darkroom."),
    ("5", "Cities", "A harbour, a market and a wall."),
]


class Table:
    """An embedding that knows the vectors of its texts."""

    def __init__(self, vectors: NDArray[np.float32], name: str = "table") -> None:
        self.vectors = vectors
        self.name = name

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vectors[[int(text) for text in texts]]

    embed_passages = embed_queries


class Endpoint:
    """The server of embeddings, and how many texts each request had."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log

    @property
    def requests(self) -> list[int]:
        return [int(line) for line in self._log.read_text().split()] if self._log.exists() else []


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    log = tmp_path_factory.mktemp("embeddings") / "requests"
    with subprocess.Popen([sys.executable, str(SERVER), str(log)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield Endpoint(server.stdout.readline().strip(), log)
        server.kill()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "cities.jsonl"
    path.write_text("".join(json.dumps({"id": i, "title": t, "text": x}) + "\n" for i, t, x in CITIES))
    return path


def by_hand(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> list[tuple[float, str]]:
    """Return the cosine similarity and the id of every document, the best first, computed one by one."""
    scores = []
    for number, vector in enumerate(vectors.astype(float)):
        length = float(np.sqrt(np.sum(vector**2) * np.sum(query.astype(float) ** 2)))
        scores.append((float(np.sum(vector * query)) / length if length else 0.0, str(number)))
    return sorted(scores, key=lambda pair: (-pair[0], sortable(pair[1])))


@given(
    seed=st.integers(min_value=0, max_value=2**32 - 1),
    count=st.one_of(st.integers(min_value=1, max_value=60), st.integers(min_value=100, max_value=700)),
    dimensions=st.sampled_from([1, 2, 7, 64]),
    topk=st.integers(min_value=1, max_value=20),
    copies=st.booleans(),
)
def test_the_ranking_is_that_of_a_brute_force_computation(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, dimensions: int, topk: int, copies: bool
) -> None:
    """Similarities are exact, equal ones come by id, and several queries at once are answered like single ones."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, dimensions)).astype(np.float32)
    if copies:
        vectors[: count // 2] = vectors[0]
    numbers = [str(number) for number in rng.permutation(count)]
    index = DenseFormat(Table(vectors)).write([Document(n, n) for n in numbers], tmp_path_factory.mktemp("dense"))
    queries = [str(number) for number in rng.integers(count, size=3)]
    for query, several in zip(queries, index.search_many(queries, topk), strict=True):
        expected = by_hand(vectors, vectors[int(query)])
        for hits in (index.search(query, topk), several):
            assert len(hits) == min(topk, count)
            apart = all(a - b > 1e-6 for (a, _), (b, _) in pairwise(expected))
            assert not apart or [hit.id for hit in hits] == [name for _, name in expected[:topk]]
            assert [hit.score for hit in hits] == pytest.approx([score for score, _ in expected[:topk]], abs=1e-5)
            similarity = {name: score for score, name in expected}
            assert [similarity[hit.id] for hit in hits] == pytest.approx([s for s, _ in expected[:topk]], abs=1e-5)
    if copies and count > 3:
        equal = [hit.id for hit in index.search("0", count // 2)]
        assert equal == sorted(equal, key=sortable)


def test_parts_of_words_find_what_words_do_not(endpoint: Endpoint, corpus: Path, tmp_path: Path) -> None:
    """Vectors find a text without a common word; words find a rare name; both together find either."""
    embedder = EndpointEmbedder(endpoint.url, "hashed")
    words, dense, hybrid = (
        open_index(corpus, engine, None if engine == "bm25" else embedder, tmp_path / "indexes")
        for engine in ("bm25", "dense", "hybrid")
    )
    assert [len(index) for index in (words, dense, hybrid)] == [5, 5, 5]
    assert words.search("darkroomish", 1) == []
    assert [index.search("darkroomish", 1)[0].title for index in (dense, hybrid)] == ["Photography"] * 2
    assert [index.search("the Inca empire", 1)[0].id for index in (words, dense, hybrid)] == ["2"] * 3
    assert dense.search("  ", 3) == []
    assert SearchTool(engine=hybrid, topk=1).execute({"query": "Norway"}).data[0]["title"] == "Oslo"


def test_a_hybrid_ranking_is_the_sum_of_reciprocal_ranks(endpoint: Endpoint, corpus: Path, tmp_path: Path) -> None:
    """Recomputed from both rankings; the order of the corpus does not matter."""
    embedder = EndpointEmbedder(endpoint.url, "hashed")
    lines = corpus.read_text().splitlines(keepends=True)
    other = tmp_path / "reversed.jsonl"
    other.write_text("".join(reversed(lines)))
    words, dense, hybrid, again = (
        open_index(path, engine, None if engine == "bm25" else embedder, tmp_path / "indexes")
        for path, engine in ((corpus, "bm25"), (corpus, "dense"), (corpus, "hybrid"), (other, "hybrid"))
    )
    for query in ("capital of Peru", "a wall and photographs", "zzz"):
        scores: dict[str, float] = {}
        for ranking in (words.search(query, 100), dense.search(query, 100)):
            for place, hit in enumerate(ranking):
                scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (61 + place)
        best = sorted(scores, key=lambda name: (-scores[name], sortable(name)))
        hits = hybrid.search(query, 4)
        assert [hit.id for hit in hits] == best[:4]
        assert [hit.score for hit in hits] == pytest.approx([scores[name] for name in best[:4]])
        assert again.search(query, 4) == hits


def test_an_index_belongs_to_a_corpus_and_a_model(endpoint: Endpoint, corpus: Path, tmp_path: Path) -> None:
    """It is embedded once, in batches; another model, or a damaged file, means another one."""
    root = tmp_path / "indexes"

    def asked(model: str, batch: int = 2) -> list[int]:
        before = len(endpoint.requests)
        open_index(corpus, "dense", EndpointEmbedder(endpoint.url, model, batch=batch), root)
        return endpoint.requests[before:]

    assert asked("hashed") == [2, 2, 1]
    assert asked("hashed") == []
    assert asked("hashed-e5") == [2, 2, 1]
    (folder,) = [path for path in root.glob("*-dense*") if path.is_dir() and asked("hashed") == []][:1]
    for name in ("vectors.npy", "places.npy", "documents.jsonl"):
        for path in root.glob(f"*-dense*/{name}"):
            path.write_bytes(path.read_bytes()[:-40])
        assert asked("hashed") == [2, 2, 1], name
        asked("hashed-e5")
    assert folder.is_dir()


def test_known_models_get_their_prefixes(endpoint: Endpoint) -> None:
    """As Search-R1's server does; explicit ones come first."""
    names = {
        "intfloat/e5-base-v2": ("query: ", "passage: "),
        "BAAI/bge-small-en": ("Represent this sentence for searching relevant passages: ", ""),
        "other": ("", ""),
    }
    for model, prefixes in names.items():
        assert json.loads(EndpointEmbedder(endpoint.url, model).name) == ["endpoint", model, *prefixes]
    assert json.loads(EndpointEmbedder(endpoint.url, "e5", "q ", "").name)[2:] == ["q ", ""]
    one, two = EndpointEmbedder(endpoint.url, "e5"), EndpointEmbedder(endpoint.url, "other")
    assert one.embed_queries(["x"]).tolist() == two.embed_queries(["query: x"]).tolist()
    assert one.embed_passages(["x"]).tolist() == two.embed_passages(["passage: x"]).tolist()


def answering(body: object, status: int = 200) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers["content-length"]))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answering({"error": "no key"}, 401), "status 401: .*no key"),
        (answering({"data": []}), "one embedding for each of 2 texts"),
        (
            answering({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}),
            "one embedding for each",
        ),
        (answering({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}), "different lengths"),
        (answering({"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1]}]}), "different lengths"),
        (answering(b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}'), "finite numbers"),
        (answering({"data": [{"index": 0, "embedding": 1}, {"index": 1, "embedding": 2}]}), "finite numbers"),
        (answering([]), "one embedding for each"),
        (answering(b"<html>"), "one embedding for each"),
    ],
    ids=["refused", "none", "one twice", "lengths", "text", "not a number", "scalars", "a list", "no JSON"],
)
def test_a_wrong_answer_of_an_endpoint_is_an_error_that_says_so(
    answer: Callable[[BaseHTTPRequestHandler], None], reason: str
) -> None:
    """Nothing but one finite vector of equal length for each text is accepted."""
    handler = type("Scripted", (BaseHTTPRequestHandler,), {"do_POST": answer, "log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with pytest.raises(SearchError, match=reason):
                EndpointEmbedder(f"http://127.0.0.1:{server.server_port}", "m").embed_queries(["a", "b"])
        finally:
            server.shutdown()
            thread.join()


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment variable, as for other clients of the interface."""
    seen: list[str | None] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["authorization"])
        answering({"error": "x"}, 403)(handler)

    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    handler = type("Scripted", (BaseHTTPRequestHandler,), {"do_POST": answer, "log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with pytest.raises(SearchError) as caught:
            EndpointEmbedder(f"http://127.0.0.1:{server.server_port}", "m").embed_queries(["a"])
        server.shutdown()
        thread.join()
    assert seen == ["Bearer sesame"]
    assert "sesame" not in str(caught.value)


def test_a_model_with_other_dimensions_is_an_error(tmp_path: Path) -> None:
    """Vectors of another length than the index's cannot be compared, nor can those of one corpus."""
    vectors = np.eye(3, dtype=np.float32)
    DenseFormat(Table(vectors)).write([Document("0", "0")], tmp_path)
    with pytest.raises(SearchError, match=r"2 dimensions.*3: the model has changed"):
        DenseIndex(tmp_path, Table(vectors[:, :2])).search("0", 1)


def test_concurrent_searches_are_embedded_at_once() -> None:
    """A batch of a server is one call; each search keeps its own number of documents, and a failure fails all."""
    calls: list[tuple[list[str], int]] = []

    class Engine:
        def search(self, query: str, topk: int) -> list[SearchHit]:
            raise AssertionError

        def search_many(self, queries: Sequence[str], topk: int) -> list[list[SearchHit]]:
            calls.append((list(queries), topk))
            if "bad" in queries:
                raise SearchError("no")
            return [[SearchHit(f"{query}{place}", "") for place in range(topk)] for query in queries]

        def close(self) -> None:
            pass

    import asyncio

    async def run(*searches: tuple[str, int]) -> list[Any]:
        batcher = Batcher(Engine())
        try:
            return await asyncio.gather(*(batcher.search((q,), k) for q, k in searches), return_exceptions=True)
        finally:
            batcher.close()

    first, second, third = asyncio.run(run(("a", 1), ("b", 3), ("a", 2)))
    assert [[hit.id for hit in hits] for (hits,) in (first, second, third)] == [
        ["a0"],
        ["b0", "b1", "b2"],
        ["a0", "a1"],
    ]
    assert calls == [(["a", "b"], 3)]
    assert [type(result) for result in asyncio.run(run(("a", 1), ("bad", 1)))] == [SearchError, SearchError]


@pytest.mark.parametrize(("engine", "workers"), [("dense", 1), pytest.param("hybrid", 2, marks=pytest.mark.slow)])
def test_the_server_answers_requests_of_search_r1(
    endpoint: Endpoint, corpus: Path, tmp_path: Path, engine: str, workers: int
) -> None:
    """``gem search-server`` serves the engine in Search-R1's format, and our client reads it in both."""
    command = [sys.executable, "-m", "gem", "search-server", "--corpus", str(corpus), "--index", str(tmp_path / "i")]
    command += ["--engine", engine, "--model", "hashed", "--embeddings-url", endpoint.url, "--port", "0", "--json"]
    with subprocess.Popen([*command, "--workers", str(workers)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ready = json.loads(server.stdout.readline())
            assert ready["documents"] == 5
            queries = {"queries": ["photographing", "capital of Norway"], "topk": 2, "return_scores": True}
            told = httpx2.post(ready["url"], json=queries, timeout=60).json()["result"]
            assert [hits[0]["document"]["contents"].partition("\n")[0] for hits in told] == ['"Photography"', '"Oslo"']
            assert all(hits[0]["score"] >= hits[1]["score"] for hits in told)
            plain = httpx2.post(ready["url"], json={"queries": ["photographing"]}, timeout=60).json()["result"]
            assert plain[0][0]["id"] == "4"
            for protocol in ("json", "msgpack"):
                tool = SearchTool(search_url=ready["url"], protocol=protocol, timeout=60)
                assert "darkroom" in tool.execute({"query": "photographing"}).text
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--engine", "dense"], "needs --model"),
        (["--model", "x"], "needs --engine"),
        (["--embeddings-url", "http://127.0.0.1:9/v1"], "needs --model"),
        (["--engine", "dense", "--model", "x", "--embeddings-url", "ftp://x"], "http://127.0.0.1:8000/v1"),
        (["--engine", "faiss", "--model", "x"], "bm25"),
    ],
)
def test_a_wrong_choice_of_engine_is_told_in_one_line(corpus: Path, options: list[str], reason: str) -> None:
    """Before anything is indexed, without a traceback."""
    command = [sys.executable, "-m", "gem", "search-server", "--corpus", str(corpus), "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_an_embedder_goes_with_the_engines_that_need_one(corpus: Path) -> None:
    """The other combinations are refused."""
    table = Table(np.eye(1, dtype=np.float32))
    with pytest.raises(ArgumentError, match="'dense' needs one"):
        open_index(corpus, "dense")
    with pytest.raises(ArgumentError, match="has no use for one"):
        open_index(corpus, "bm25", table)
    with pytest.raises(ArgumentError, match="url"):
        EndpointEmbedder("localhost", "x")


def test_a_model_without_its_library_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice is a line for pip."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(SearchError, match="pip install sentence-transformers"):
        ModelEmbedder("intfloat/e5-base-v2")
