"""The index over a corpus, and where it is kept."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentTypeError
from gem_tools.search import index as index_module
from gem_tools.search import local, store
from gem_tools.search.corpus import Document
from gem_tools.search.errors import CorpusError, SearchError
from gem_tools.search.index import LocalIndex
from gem_tools.search.local import local_index

CITIES = [
    {"id": "lima", "contents": '"Lima"\nLima is the capital of Peru.'},
    {"id": "quito", "contents": '"Quito"\nQuito is the capital of Ecuador, high in the Andes.'},
    {"id": "cusco", "contents": '"Cusco"\nCusco lies in the Andes of Peru; its cafés are old.'},
    {"id": "who", "contents": '"The Who"\nTo be, or not to be.'},
]


def lines(documents: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def found(index: LocalIndex, query: str, topk: int = 10) -> list[str]:
    return [hit.id for hit in index.search(query, topk)]


def aged(path: Path, seconds: int) -> None:
    """Make a file look older, so that its digest is remembered."""
    stamp = path.stat().st_mtime_ns - seconds * 10**9
    os.utime(path, ns=(stamp, stamp))


@pytest.fixture(scope="module")
def cities() -> LocalIndex:
    return local_index(CITIES)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "cities.jsonl"
    path.write_text(lines(CITIES), encoding="utf-8")
    aged(path, 100)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "indexes"


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows by one with each index that this process writes."""
    counted: list[str] = []
    write = LocalIndex.write.__func__  # type: ignore[attr-defined]

    def counting(cls: type[LocalIndex], documents: Any, folder: Path | None = None) -> LocalIndex:
        counted.append(str(folder))
        result: LocalIndex = write(cls, documents, folder)
        return result

    monkeypatch.setattr(LocalIndex, "write", classmethod(counting))
    return counted


def test_what_fits_best_comes_first(cities: LocalIndex) -> None:
    """A document with both words stands before those with one."""
    assert found(cities, "capital of Peru")[0] == "lima"
    assert set(found(cities, "capital of Peru")) == {"lima", "quito", "cusco"}


def test_case_accents_and_endings_make_no_difference(cities: LocalIndex) -> None:
    """Agents write words as they please."""
    assert found(cities, "CAFE capitals")[0] == "cusco"


def test_words_like_the_count_only_alone(cities: LocalIndex) -> None:
    """A query of stop words still finds what has them; in any other query they say nothing."""
    assert found(cities, "to be or not to be")[0] == "who"
    assert found(cities, "the Ecuador of to be") == ["quito"]


def test_at_most_topk_documents_come_back(cities: LocalIndex) -> None:
    """And none for a topk of zero."""
    assert len(found(cities, "capital Andes Peru", 2)) == 2
    assert found(cities, "capital", 0) == []


@pytest.mark.parametrize(
    "query",
    ["", " \n\t", "\0", "\ud800", "!!! ---", "🙂", "contents:lima^5 AND (", '"Lima', "NOT lima", "id:lima", "/l.*/",
     "lima~2", "[a TO z]", "*", "\\", "{}", "<search>", "a" * 1_000_000, "é" * 100_000, "\u202e\ufeff"],
)  # fmt: skip
def test_no_query_raises(cities: LocalIndex, query: str) -> None:
    """What is syntax elsewhere is punctuation here."""
    assert all(hit.id in {"lima", "quito", "cusco", "who"} for hit in cities.search(query, 5))


def test_syntax_around_a_word_makes_no_difference(cities: LocalIndex) -> None:
    """The words of a query are found whatever stands around them."""
    assert found(cities, '+contents:("lima"^2) -~*') == found(cities, "contents lima 2")


@given(st.text(max_size=200))
def test_any_text_is_a_query(query: str) -> None:
    """Whatever a model writes, it finds documents or none."""
    assert len(local_index(CITIES).search(query, 3)) <= 3


def test_a_long_query_costs_what_its_first_words_cost(cities: LocalIndex) -> None:
    """Beyond 64 different words and 10,000 characters nothing is looked for."""
    many = [f"w{number}" for number in range(64)]
    assert found(cities, " ".join([*many[:63], "lima"])) == ["lima"]
    assert found(cities, " ".join([*many, "lima"])) == []
    assert found(cities, " " * 10_000 + "lima") == []


def test_equal_documents_come_by_id() -> None:
    """Shorter ids first, so that numbers are in order; whatever the order of the corpus."""
    documents = [{"id": str(number), "text": "same words"} for number in range(300)]
    expected = [str(number) for number in range(20)]
    for seed in range(3):
        random.Random(seed).shuffle(documents)
        assert found(local_index(list(documents)), "words", 20) == expected


def test_equal_documents_come_by_id_in_an_index_of_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """How an index was cut into parts does not show."""
    rng = random.Random(5)
    words = [f"w{number}" for number in range(300)]
    documents = [Document(str(number), " ".join(rng.choices(words, k=8))) for number in range(3000)]
    documents += [Document(f"tie{number:03}", "w1 w2") for number in range(100)]
    queries = ["w1 w2", "w3", "w4 w5 w6", *(" ".join(rng.sample(words, 3)) for _ in range(50))]
    whole = LocalIndex.write(sorted(documents, key=lambda document: index_module.sortable(document.id)))
    assert whole._searcher.num_segments == 1
    rng.shuffle(documents)
    parts = _in_parts(documents, 7)
    assert parts._searcher.num_segments > 1
    for query in queries:
        for topk in (1, 3, 30):
            ours, theirs = parts.search(query, topk), whole.search(query, topk)
            assert [hit.id for hit in ours] == [hit.id for hit in theirs]
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs])


def _in_parts(documents: list[Document], count: int) -> LocalIndex:
    """Write an index that has several parts, which a corpus of this size has not by itself."""
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema = schema.add_text_field("id", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    schema = schema.add_bytes_field("contents", stored=True)
    schema = schema.add_text_field("words", tokenizer_name="gem", index_option="freq")
    index = index_module._new(schema.build(), None)
    index.register_tokenizer("gem", index_module._analyzer())
    writer = index.writer(heap_size=20_000_000, num_threads=1)
    step = len(documents) // count
    for place, document in enumerate(documents):
        fields = tantivy.Document()
        fields.add_text("id", index_module.sortable(document.id))
        fields.add_bytes("contents", document.contents.encode())
        fields.add_text("words", document.contents)
        writer.add_document(fields)
        if place % step == 0:
            writer.commit()
    writer.commit()
    index.config_reader("manual")
    index.reload()
    return LocalIndex(index)


def test_scores_and_contents_come_with_a_hit(cities: LocalIndex) -> None:
    """The best has the highest score; the title is without quotes, the rest is the text."""
    hits = cities.search("capital Peru", 3)
    scores = [hit.score or 0.0 for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert (hits[0].title, hits[0].heading, hits[0].text) == ("Lima", '"Lima"', "Lima is the capital of Peru.")


def test_the_number_of_documents_is_the_length(cities: LocalIndex) -> None:
    """All of the corpus is in the index."""
    assert len(cities) == len(CITIES)


def test_many_threads_search_one_index(cities: LocalIndex) -> None:
    """Each gets the answers that it would get alone."""
    queries = ["capital of Peru", "Andes", "to be or not to be", "nothing of that"]
    alone = {query: cities.search(query, 3) for query in queries}
    wrong: list[str] = []

    def run(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            query = rng.choice(queries)
            if cities.search(query, 3) != alone[query]:
                wrong.append(query)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_documents_in_memory_are_indexed_once(writes: list[str]) -> None:
    """The same list, an equal list, and a function that returns it have one index."""
    documents = [{"id": "x", "text": "alpha"}, {"id": "y", "text": "beta"}]
    first = local_index(documents)
    assert local_index(documents) is first
    assert local_index([dict(item) for item in documents]) is first
    assert local_index(lambda: documents) is first
    assert writes == ["None"]


def test_threads_that_come_together_index_once(writes: list[str]) -> None:
    """The first writes, the others wait."""
    documents = [{"id": str(number), "text": f"number {number}"} for number in range(5000)]
    together = threading.Barrier(8)
    indexes: list[LocalIndex] = []

    def run() -> None:
        together.wait()
        indexes.append(local_index(documents))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(index) for index in indexes}) == 1
    assert writes == ["None"]


def test_other_documents_have_another_index() -> None:
    """Also where a list of the same length takes the place in memory of one that is gone."""
    for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta"):
        assert found(local_index([{"id": word, "text": f"{word} letter"}]), "letter") == [word]


@pytest.mark.parametrize("corpus", [3, None, b"bytes", {"id": "x", "text": "a"}, iter([{"id": "x", "text": "a"}])])
def test_what_is_no_corpus_is_refused(corpus: Any) -> None:
    """With what a corpus would be."""
    with pytest.raises(ArgumentTypeError, match="a corpus is the path of a file or a list of documents"):
        local_index(corpus)


def test_an_index_over_a_file_is_written_once(corpus: Path, root: Path, writes: list[str]) -> None:
    """The second time it is opened, and while anybody has it, it is the same object."""
    first = local_index(corpus, root)
    assert found(first, "capital Peru")[0] == "lima"
    assert local_index(str(corpus), root) is first
    del first
    assert found(local_index(corpus, root), "capital Peru")[0] == "lima"
    assert len(writes) == 1


def test_a_corpus_that_was_moved_finds_its_index(corpus: Path, root: Path, writes: list[str]) -> None:
    """What counts is what stands in the file."""
    local_index(corpus, root)
    moved = corpus.with_name("moved.jsonl")
    corpus.rename(moved)
    local_index(moved, root)
    packed = corpus.with_name("packed.jsonl.gz")
    packed.write_bytes(gzip.compress(moved.read_bytes()))
    local_index(packed, root)
    assert len(writes) == 1


def test_a_corpus_that_changed_gets_a_new_index(corpus: Path, root: Path) -> None:
    """Also if it keeps its size and is changed right after it was indexed."""
    assert found(local_index(corpus, root), "Peru")
    corpus.write_text(lines(CITIES).replace("Peru", "Chad"), encoding="utf-8")
    assert not found(local_index(corpus, root), "Peru")
    corpus.write_text(lines(CITIES).replace("Peru", "Mali"), encoding="utf-8")
    assert not found(local_index(corpus, root), "Chad")
    assert found(local_index(corpus, root), "Mali")


def test_a_corpus_is_not_read_again_at_every_start(corpus: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is remembered with its size and times."""
    local_index(corpus, root)
    monkeypatch.setattr(store, "open_corpus", _never)
    assert found(local_index(corpus, root), "capital Peru")[0] == "lima"


def _never(*args: Any) -> Any:
    raise AssertionError("was called")


def test_a_file_that_may_still_change_is_read_again(corpus: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the time that a file system may take for one moment, a time says nothing."""
    os.utime(corpus)
    local_index(corpus, root)
    monkeypatch.setattr(store, "open_corpus", _never)
    with pytest.raises(AssertionError, match="was called"):
        local_index(corpus, root)


def test_an_index_can_be_read_where_nothing_can_be_written(
    corpus: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that comes with a container, for example."""
    local_index(corpus, root)
    for note in root.glob("*.digest"):
        note.unlink()

    def refuse(self: Path, *args: Any, **kwargs: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "touch", refuse)
    assert found(local_index(corpus, root), "capital Peru")[0] == "lima"


def _only_index(root: Path) -> Path:
    (folder,) = [path for path in root.iterdir() if path.is_dir()]
    return folder


@pytest.mark.parametrize("length", [None, 0, 10, -1])
@pytest.mark.parametrize("name", ["meta.json", ".store", ".term", ".idx", ".fast", ".fieldnorm"])
def test_a_damaged_index_is_written_anew(corpus: Path, root: Path, name: str, length: int | None) -> None:
    """A file of it that is missing, empty, or was cut off."""
    local_index(corpus, root)
    folder = _only_index(root)
    (part,) = folder.glob(f"*{name}")
    content = part.read_bytes()
    part.unlink()
    if length is not None:
        part.write_bytes(content[:length])
    assert found(local_index(corpus, root), "capital Peru")[0] == "lima"
    assert _only_index(root) == folder


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 20, 100, 20_000])
def test_a_bad_corpus_leaves_nothing_behind(corpus: Path, root: Path, count: int) -> None:
    """The error names the line, and nobody writes to the folder of indexes any more."""
    many = [{"text": f"number {number}"} for number in range(count)]
    corpus.write_text(lines(many) + "{broken\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"cities\.jsonl:{count + 1}: not JSON"):
        local_index(corpus, root)
    assert [path for path in root.iterdir() if path.is_dir()] == []


def test_a_corpus_that_changes_while_it_is_indexed_is_an_error(
    corpus: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its index would be kept under the name of another content."""
    monkeypatch.setattr(store, "_digest", lambda corpus, root: "0" * 64)
    with pytest.raises(CorpusError, match=r"cities\.jsonl changed while it was indexed"):
        local_index(corpus, root)
    assert [path for path in root.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_what_is_no_file_is_an_error(tmp_path: Path, root: Path, make: Callable[[Path], None]) -> None:
    """A missing file and a folder."""
    path = tmp_path / "nothing.jsonl"
    make(path)
    with pytest.raises(CorpusError, match=r"nothing\.jsonl (cannot be read|is not a file)"):
        local_index(path, root)


def test_a_folder_that_cannot_be_written_is_an_error(corpus: Path, tmp_path: Path) -> None:
    """It says where, and why."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SearchError, match=r"cannot be kept in .*file.*; set XDG_CACHE_HOME"):
        local_index(corpus, tmp_path / "file" / "indexes")


COUNTING = """
import sys
from gem_tools.search.index import LocalIndex
from gem_tools.search.local import local_index

count = 0
write = LocalIndex.write.__func__
def counting(cls, documents, folder=None):
    global count
    count += 1
    return write(cls, documents, folder)
LocalIndex.write = classmethod(counting)
print("ready", flush=True)
sys.stdin.readline()
index = local_index(sys.argv[1], sys.argv[2])
print(count, *(hit.id for hit in index.search("capital Peru", 5)))
"""


def test_of_several_processes_one_writes(tmp_path: Path, root: Path) -> None:
    """The others wait, and all have the same index."""
    path = tmp_path / "large.jsonl"
    path.write_text(lines([*CITIES, *({"text": f"number {n}"} for n in range(4, 5000))]), encoding="utf-8")
    command = [sys.executable, "-c", COUNTING, str(path), str(root)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outcomes = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sorted(count for count, *_ in outcomes) == ["0", "0", "1"]
    assert {tuple(order) for _, *order in outcomes} == {("lima", "quito", "cusco")}


KILLED = """
import os, signal, sys
from gem_tools.search import store
from gem_tools.search.local import local_index

read = store.read_lines
def dying(path, lines):
    for number, document in enumerate(read(path, lines)):
        if number == 20_000:
            os.kill(os.getpid(), signal.SIGKILL)
        yield document
store.read_lines = dying
local_index(sys.argv[1], sys.argv[2])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_writer_that_is_killed_leaves_no_index(tmp_path: Path, root: Path) -> None:
    """The next one begins anew, does not wait for the dead one, and clears away what it left."""
    path = tmp_path / "large.jsonl"
    path.write_text(lines([{"id": str(n), "text": f"word{n % 7} and {n}"} for n in range(20_001)]), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    left = [folder for folder in root.iterdir() if folder.is_dir()]
    assert len(left) == 1
    assert ".part-" in left[0].name
    assert len(local_index(path, root)) == 20_001
    assert ".part-" not in _only_index(root).name


FORKED = """
import os, sys, threading
from gem_tools.search.local import local_index

index = local_index(sys.argv[1], sys.argv[2])
expected = index.search("capital Peru", 5)
lock = local_index.__globals__["_lock"]
held, over = threading.Event(), threading.Event()
def holding():
    with lock:
        held.set()
        over.wait()
threading.Thread(target=holding).start()
held.wait()
child = os.fork()
if child == 0:
    again = local_index(sys.argv[1], sys.argv[2])
    os._exit(0 if again is index and again.search("capital Peru", 5) == expected else 1)
over.set()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_searches_the_index_of_its_parent(corpus: Path, root: Path) -> None:
    """Also if it was forked while another thread opened an index."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(corpus), str(root)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0


def test_indexes_in_memory_do_not_pile_up() -> None:
    """Only the last few outlive their users."""
    for number in range(20):
        local_index([{"id": str(number), "text": f"text {number}"}])
    assert len(local._kept) <= local._KEPT


def test_the_cache_folder_is_that_of_the_user(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME says where, on every system."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    local_index(corpus)
    assert store.indexes() == tmp_path / "cache" / "gem" / "search"
    assert _only_index(store.indexes()).name.endswith(index_module.ENGINE)
    shutil.rmtree(store.indexes())
    assert found(local_index(corpus), "capital Peru")[0] == "lima"


INDEXING = "import sys; from gem_tools.search.local import local_index; local_index(sys.argv[1], sys.argv[2])"


def test_indexing_is_silent_where_nobody_looks(corpus: Path, root: Path) -> None:
    """A training run's log stays as it is."""
    command = [sys.executable, "-c", INDEXING, str(corpus), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_indexing_shows_progress_on_a_terminal(corpus: Path, root: Path) -> None:
    """A bar with the name of the file; opening the index shows nothing."""
    first, second = (_on_a_terminal([sys.executable, "-c", INDEXING, str(corpus), str(root)]) for _ in range(2))
    assert b"indexing cities.jsonl" in first
    assert second == b""


def _on_a_terminal(command: list[str]) -> bytes:
    ours, theirs = os.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = bytearray()
    with open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123  # a descriptor
        while True:
            try:
                piece = terminal.read(4096)
            except OSError:  # what Linux says when the other side is closed
                break
            if not piece:
                break
            shown += piece
    assert process.wait(timeout=60) == 0
    return bytes(shown)


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    """The engine loads with the first index, the HTTP client with the first request."""
    code = (
        "import sys; from gem_tools import SearchTool; SearchTool(search_url='http://127.0.0.1:9/'); "
        "from gem_tools.search.command import search_server_command; "
        "print({'tantivy', 'httpx2', 'msgpack', 'starlette', 'uvicorn', 'rich', 'mcp'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"


def test_words_of_the_language_count_if_they_are_asked_for() -> None:
    """They are left out of other queries, and of all queries on request; a term says how many documents have it."""
    index = LocalIndex.write([Document("1", "the mayor of the town"), Document("2", "mayors")])
    assert index.terms("of the") == ["of", "the"]
    assert index.terms("of the", function_words=False) == []
    assert index.terms("the mayor", function_words=False) == index.terms("the mayor") == ["mayor"]
    assert [index.documents_with(term) for term in ("mayor", "town", "nobody")] == [2, 1, 0]
