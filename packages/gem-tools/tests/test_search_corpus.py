"""Reading a corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_tools.search.corpus import Document, open_corpus, read_documents, read_lines
from gem_tools.search.errors import CorpusError

PLACE = Path("corpus.jsonl")


def read(*lines: Any) -> list[Document]:
    return list(read_lines(PLACE, [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]))


def test_contents_are_taken_as_they_stand() -> None:
    """The form of Search-R1 passes through unchanged."""
    assert read({"id": "7", "contents": '"Lima"\nThe capital.'}) == [Document("7", '"Lima"\nThe capital.')]


def test_title_and_text_become_contents() -> None:
    """The form of BEIR comes to the same documents, with the title on one line."""
    assert read({"_id": "a", "title": "Two\n lines", "text": "x\ny"}) == [Document("a", '"Two lines"\nx\ny')]


def test_an_id_may_be_an_int_or_missing() -> None:
    """A document without an id is called by its place among the documents."""
    assert [document.id for document in read({"id": 12, "text": "x"}, b"  \n", {"text": "y"})] == ["12", "1"]


def test_a_byte_order_mark_and_empty_lines_are_passed_over() -> None:
    """Editors leave both."""
    assert read(b'\xef\xbb\xbf{"id": "1", "text": "x"}\r\n', b"\n", b"")[0].id == "1"


def test_lone_surrogates_become_question_marks() -> None:
    """JSON can hold what UTF-8 cannot."""
    assert read(b'{"id": "\\ud800", "contents": "a\\udfffb"}') == [Document("?", "a?b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "corpus.jsonl:2: not JSON, "),
        (b'{"id": "1", "text": "\xff"}', "corpus.jsonl:2: not UTF-8, "),
        (b"[1]", "corpus.jsonl:2: a document must be a JSON object, got list"),
        (b'{"id": "1"}', "corpus.jsonl:2: a document needs 'contents', or 'text' and optionally 'title'; it has 'id'"),
        (b"{}", "it has none"),
        (b'{"id": "1", "contents": 3}', "corpus.jsonl:2: 'contents' must be a string, got 3"),
        (b'{"id": "1", "text": ["a"]}', "corpus.jsonl:2: 'text' must be a string, got ['a']"),
        (b'{"id": "1", "text": "a", "title": 3}', "corpus.jsonl:2: 'title' must be a string, got 3"),
        (b'{"id": true, "text": "a"}', "corpus.jsonl:2: the id must be a string or an int, got True"),
        (b'{"id": 1.5, "text": "a"}', "corpus.jsonl:2: the id must be a string or an int, got 1.5"),
        (b'{"id": "", "text": "a"}', "corpus.jsonl:2: the id must have 1 to 1,000 characters, got 0"),
        (b'{"id": "0", "text": "a"}', "corpus.jsonl:2: the id '0' is also that of line 1"),
        (b"[" * 100_000, "corpus.jsonl:2: not valid JSON"),
        (b'{"id": ' + b"9" * 5000 + b', "text": "a"}', "corpus.jsonl:2: not valid JSON"),
    ],
)
def test_an_error_names_the_file_the_line_and_what_is_wrong(line: bytes, message: str) -> None:
    """Nobody has to look for the one bad line among millions."""
    with pytest.raises(CorpusError) as caught:
        read({"id": "0", "text": "fine"}, line)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_corpus_is_an_error() -> None:
    """It would answer every query with nothing."""
    with pytest.raises(CorpusError, match=r"corpus\.jsonl holds no documents"):
        read(b"\n")


def test_documents_in_memory_are_checked_alike() -> None:
    """There the place is the number in the list."""
    with pytest.raises(CorpusError, match="document 1 of the corpus: a document needs"):
        list(read_documents([{"id": "a", "text": "x"}, {"id": "b", "text": None}]))
    with pytest.raises(CorpusError, match="document 1 of the corpus: the id 'a' is also that of document 0"):
        list(read_documents([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]))
    with pytest.raises(CorpusError, match="holds no documents"):
        list(read_documents([]))


def test_a_packed_corpus_is_unpacked(tmp_path: Path) -> None:
    """What ends in .gz is read as what it holds."""
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "1", "contents": "x"}\n'))
    with open_corpus(path) as file:
        assert list(read_lines(path, file)) == [Document("1", "x")]


@pytest.mark.parametrize("damage", [lambda packed: packed[:-20], lambda packed: packed[:20] + b"x" * 9 + packed[29:],
                                    lambda packed: b"no archive", lambda packed: packed[:-8] + b"x" * 8])  # fmt: skip
def test_a_damaged_archive_is_an_error(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """Half a download is no corpus."""
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(damage(gzip.compress(b'{"contents": "x"}\n' * 1000)))
    with open_corpus(path) as file, pytest.raises(CorpusError, match="cannot be read to its end"):
        list(read_lines(path, file))


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_no_bytes_raise_anything_else(lines: list[bytes]) -> None:
    """Whatever a file holds, it is a corpus or a CorpusError."""
    with suppress(CorpusError):
        read(*lines)
