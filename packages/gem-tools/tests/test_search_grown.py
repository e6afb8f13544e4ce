"""Corpora that grow at their end: the index grows with them, and finds what one made from scratch finds."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gem_tools.search import index as index_module
from gem_tools.search.corpus import Document
from gem_tools.search.dense import DenseFormat
from gem_tools.search.engines import open_index
from gem_tools.search.errors import CorpusError
from gem_tools.search.index import LocalIndex
from gem_tools.search.index_record import read_record, write_record
from gem_tools.search.vector_codes import VectorCodes, encoded
from gem_tools.search.words import indexed_words

ENGINES = ["bm25", "dense", "hybrid"]
WORDS = ["lima", "oslo", "harbour", "wall", "market"]


class Letters:
    """An embedding by the letters of a text, and how many passages it was given."""

    def __init__(self, name: str = "letters", turn: int = 1) -> None:
        self.name = name
        self.turn = turn
        self.passages = 0

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = [[text.count(letter) + 0.01 * place for place, letter in enumerate("aeilmoprw")] for text in texts]
        return np.asarray(counts, dtype=np.float32)[:, :: self.turn]

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.passages += len(texts)
        return self.embed_queries(texts)


def opened(engine: str, corpus: Path, root: Path, embedder: Letters | None = None) -> Any:
    """Open the index of an engine."""
    return open_index(corpus, engine, None if engine == "bm25" else embedder or Letters(), root)


def lines(texts: Iterable[str], start: int = 0) -> bytes:
    """Return the lines of a corpus, without ids in the texts with an even place."""
    found = []
    for place, text in enumerate(texts, start):
        found.append(json.dumps({"contents": text} if place % 2 == 0 else {"id": f"d{place}", "contents": text}))
    return "".join(f"{line}\n" for line in found).encode()


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), min_size=1, max_size=6)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ENGINES)
@given(batches=st.lists(TEXTS, min_size=2, max_size=3), blank=st.booleans())
def test_a_grown_index_finds_what_one_from_scratch_finds(
    tmp_path_factory: pytest.TempPathFactory, engine: str, batches: list[list[str]], blank: bool
) -> None:
    """The same documents with the same scores in the same order, at each size."""
    _grow_and_compare(engine, tmp_path_factory.mktemp("grown"), batches, blank=blank)


@pytest.mark.parametrize("engine", ["bm25", "dense", pytest.param("hybrid", marks=pytest.mark.nightly)])
def test_an_index_grows_with_its_corpus(tmp_path: Path, engine: str) -> None:
    """The small version of the comparison above: equal scores, a blank line, a document without words."""
    _grow_and_compare(engine, tmp_path, [["lima wall", "oslo", "oslo"], ["oslo", "", "lima wall"]], blank=True)


def _grow_and_compare(engine: str, folder: Path, batches: list[list[str]], *, blank: bool) -> None:
    corpus, count = folder / "corpus.jsonl", 0
    for batch in batches:
        with corpus.open("ab") as file:
            file.write(lines(batch, count) + (b"\n" if blank else b""))
        count += len(batch)
        grown = opened(engine, corpus, folder / "grown")
        fresh = opened(engine, corpus, folder / f"fresh-{count}")
        assert len(grown) == len(fresh) == count
        for query in WORDS[:3]:
            for topk in (1, 3, 100):
                assert grown.search(query, topk) == fresh.search(query, topk)


@pytest.fixture
def grown(tmp_path: Path) -> tuple[Path, Path]:
    """A corpus and the folder of its indexes."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(lines(["lima harbour", "oslo wall"]))
    return corpus, tmp_path / "root"


def append(corpus: Path, content: bytes) -> None:
    with corpus.open("ab") as file:
        file.write(content)


def test_only_new_documents_are_embedded_and_indexed(grown: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Besides the first one, which tells whether the model is still the same."""
    corpus, root = grown
    embedder = Letters()
    written: list[str] = []

    def noted(text: str) -> str:
        written.append(text)
        return indexed_words(text)

    monkeypatch.setattr(index_module, "indexed_words", noted)
    opened("hybrid", corpus, root, embedder)
    append(corpus, lines(["market"], start=2))
    assert opened("hybrid", corpus, root, embedder).search("market", 1)[0].contents == "market"
    assert embedder.passages == 2 + 1 + 1
    assert written == ["lima harbour", "oslo wall", "market"]


def test_a_changed_model_gets_a_new_index_in_place_of_a_mixed_one(grown: tuple[Path, Path]) -> None:
    """Under the same name; and another name never meets this index."""
    corpus, root = grown
    opened("dense", corpus, root)
    append(corpus, lines(["market"], start=2))
    changed, other = Letters(turn=-1), Letters("others")
    assert len(opened("dense", corpus, root, changed)) == 3
    assert changed.passages == 1 + 3
    opened("dense", corpus, root, other)
    assert other.passages == 3


@pytest.mark.parametrize("engine", ["dense", pytest.param("bm25", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"id": "d1", "contents": "again"}\n',
            r"corpus.jsonl:3: the id 'd1' is also that of one of the first 2 lines",
        ),
        (b'{"id": "0", "contents": "again"}\n', r"corpus.jsonl:3: the id '0' is also that of one of the first 2 lines"),
        (b'{"contents": 5}\n', "corpus.jsonl:3: 'contents' must be a string"),
    ],
)
def test_what_is_wrong_with_new_lines_names_the_line(
    grown: tuple[Path, Path], engine: str, content: bytes, message: str
) -> None:
    """Counted from the beginning of the file; afterwards the old index is still there."""
    corpus, root = grown
    opened(engine, corpus, root)
    before = corpus.read_bytes()
    append(corpus, content)
    with pytest.raises(CorpusError, match=message):
        opened(engine, corpus, root)
    corpus.write_bytes(before)
    assert len(opened(engine, corpus, root)) == 2


@pytest.mark.parametrize("change", ["a line that goes on", "a line that changed", "a shorter corpus"])
def test_a_corpus_that_changed_otherwise_is_indexed_anew(grown: tuple[Path, Path], change: str) -> None:
    """What was there before must be there unchanged, up to the end of a line."""
    corpus, root = grown
    corpus.write_bytes(corpus.read_bytes().rstrip(b"\n"))
    opened("bm25", corpus, root)
    if change == "a line that goes on":
        append(corpus, b" \n" + lines(["market"], start=2))
    elif change == "a line that changed":
        corpus.write_bytes(corpus.read_bytes().replace(b"lima", b"oslo") + b"\n")
    else:
        corpus.write_bytes(corpus.read_bytes().splitlines()[0])
    found = opened("bm25", corpus, root)
    assert len(found) == {"a line that goes on": 3, "a line that changed": 2, "a shorter corpus": 1}[change]
    assert (
        len(found.search("oslo", 5))
        == {"a line that goes on": 1, "a line that changed": 2, "a shorter corpus": 0}[change]
    )


def test_a_line_that_another_one_was_joined_to_is_no_document(grown: tuple[Path, Path]) -> None:
    """The beginning of a corpus that is known ends with a line, not in one."""
    corpus, root = grown
    corpus.write_bytes(corpus.read_bytes().rstrip(b"\n"))
    opened("dense", corpus, root)
    append(corpus, lines(["market"], start=2))
    with pytest.raises(CorpusError, match=r"corpus.jsonl:2: not JSON"):
        opened("dense", corpus, root)


def test_a_compressed_corpus_grows_too(tmp_path: Path) -> None:
    """A further member of the archive is more of the same file."""
    corpus, root, embedder = tmp_path / "corpus.jsonl.gz", tmp_path / "root", Letters()
    corpus.write_bytes(gzip.compress(lines(["lima", "oslo"])))
    opened("dense", corpus, root, embedder)
    append(corpus, gzip.compress(lines(["market"], start=2)))
    assert opened("dense", corpus, root, embedder).search("market", 1)[0].contents == "market"
    assert embedder.passages == 2 + 1 + 1


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _exchange(folder: Path, **changes: Any) -> None:
    """Give a folder the record of another index, which is as sound."""
    found = read_record(folder)
    assert found is not None
    write_record(folder, replace(found[0], **changes))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "a flipped bit": lambda folder: _flip(
        next(path for path in sorted(folder.iterdir()) if path.suffix in (".store", ".npy"))
    ),
    "a flipped bit of the record": lambda folder: _flip(folder / "gem-index.json"),
    "a missing file": lambda folder: next(path for path in folder.iterdir() if "index" not in path.name).unlink(),
    "a further file": lambda folder: (folder / "other").write_text("x"),
    "no record": lambda folder: (folder / "gem-index.json").unlink(),
    "a record that is none": lambda folder: (folder / "gem-index.json").write_text("[1"),
    "a record of another shape": lambda folder: (folder / "gem-index.json").write_text('{"files": 5}'),
    "another corpus": lambda folder: _exchange(folder, corpus="0" * 64),
    "another encoder": lambda folder: _exchange(folder, version="dense2-other"),
}


@pytest.mark.parametrize("engine", ["dense", pytest.param("bm25", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_index_that_is_not_what_was_written_is_written_anew(
    grown: tuple[Path, Path], engine: str, damage: str
) -> None:
    """Whatever is wrong with it; the new one is sound."""
    corpus, root = grown
    embedder = Letters()
    index = opened(engine, corpus, root, embedder)
    expected, folder = index.search("lima", 5), index.folder
    DAMAGES[damage](folder)
    assert read_record(folder) is None or damage.startswith("another")
    again = opened(engine, corpus, root, embedder)
    assert again.search("lima", 5) == expected
    assert read_record(folder) is not None
    assert engine == "bm25" or embedder.passages == 2 + 2


@pytest.mark.parametrize("engine", ["dense", pytest.param("bm25", marks=pytest.mark.nightly)])
def test_an_index_that_was_copied_is_as_good_as_the_original(
    grown: tuple[Path, Path], tmp_path: Path, engine: str
) -> None:
    """Its files are read once, since they have other numbers, and then taken as they are."""
    corpus, root = grown
    embedder = Letters()
    folder = opened(engine, corpus, root, embedder).folder
    shutil.copytree(root, tmp_path / "copy")
    opened(engine, corpus, tmp_path / "copy", embedder)
    assert engine == "bm25" or embedder.passages == 2
    found = read_record(tmp_path / "copy" / folder.name)
    numbers = {path.stat().st_ino for path in (tmp_path / "copy" / folder.name).iterdir()}
    assert found is not None
    assert {entry["stamp"][2] for entry in found[1].values()} <= numbers


def test_an_index_that_was_extended_does_not_need_the_one_before(grown: tuple[Path, Path]) -> None:
    """Which anybody may delete; and the other way round."""
    corpus, root = grown
    old = opened("bm25", corpus, root).folder
    append(corpus, lines(["market"], start=2))
    new = opened("bm25", corpus, root).folder
    assert {path.stat().st_ino for path in old.glob("*.store")} & {path.stat().st_ino for path in new.glob("*.store")}
    shutil.rmtree(old)
    assert len(opened("bm25", corpus, root).search("lima", 5)) == 1


def test_where_links_are_not_possible_parts_are_copied(
    grown: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some file systems."""

    def refused(*_: Any) -> None:
        raise OSError("no links here")

    corpus, root = grown
    opened("bm25", corpus, root)
    append(corpus, lines(["market"], start=2))
    monkeypatch.setattr(os, "link", refused)
    assert len(opened("bm25", corpus, root).search("lima market", 5)) == 2


@pytest.mark.nightly
def test_a_hundred_small_additions_keep_an_index_in_few_parts(tmp_path: Path) -> None:
    """The engine merges them."""
    corpus, root = tmp_path / "corpus.jsonl", tmp_path / "root"
    corpus.write_bytes(lines(["lima"] * 2000))
    for number in range(100):
        append(corpus, lines([f"oslo n{number}"], start=2000 + number))
        index = opened("bm25", corpus, root)
    assert len(index) == 2100
    assert index._searcher.num_segments < 20
    assert index.search("n42", 1)[0].contents == "oslo n42"


@pytest.mark.nightly
@given(
    seed=st.integers(min_value=0, max_value=2**32 - 1),
    count=st.sampled_from([1, 5, 130, 700]),
    dimensions=st.sampled_from([1, 3, 64, 384]),
    topk=st.integers(min_value=1, max_value=20),
    kind=st.sampled_from(["normal", "spikes", "copies", "zeros", "small"]),
)
def test_the_bytes_of_vectors_leave_out_none_of_the_best(
    seed: int, count: int, dimensions: int, topk: int, kind: str
) -> None:
    """Whatever the vectors are: the bound holds for each of them."""
    pytest.importorskip("simsimd")
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, dimensions)).astype(np.float32)
    if kind == "spikes":
        vectors[:, 0] *= 10.0 ** rng.integers(-3, 4, size=count)
    elif kind == "copies":
        vectors[: count // 2] = vectors[0] + 1e-4 * vectors[: count // 2]
    elif kind == "zeros":
        vectors[rng.random(count) < 0.5] = 0
    elif kind == "small":
        vectors *= 1e-30
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    query, topk = vectors[rng.integers(count)], min(topk, count)
    exact = (vectors.astype(np.float64) * query).sum(axis=1)
    best = set(np.flatnonzero(exact >= np.sort(exact)[-topk]).tolist())
    assert best <= set(VectorCodes(*encoded(vectors)).near(query, topk).tolist())


def test_without_the_library_for_bytes_the_hits_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors themselves are compared then."""
    vectors = np.random.default_rng(0).standard_normal((500, 16)).astype(np.float32)

    class Rows(Letters):
        def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return vectors[[int(text) for text in texts]]

    index = DenseFormat(Rows("rows")).write([Document(str(n), str(n)) for n in range(500)], tmp_path)
    hits = index.search("7", 20)
    monkeypatch.setattr(index, "codes", type("Slow", (), {"are_fast": False})())
    assert index.search("7", 20) == hits


def test_an_index_in_memory_knows_its_ids() -> None:
    """As one in a folder does."""
    index = LocalIndex.write([Document("a", "lima")])
    assert index.has_id("a")
    assert not index.has_id("b")
