"""Packed text: base64 of a compressed pickle of a str, read without loading a pickle."""

from __future__ import annotations

import base64
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import DatasetError
from gem_questions.schemas import packed_text
from gem_questions.schemas.packed_text import is_packed, unpacked


def packed(value: Any, protocol: int | None = None) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value, protocol))).decode()


class Command:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


@given(st.text(), st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_text_comes_back(text: str, protocol: int) -> None:
    """Any text, of any pickle protocol, as the standard library packs it."""
    assert is_packed(packed(text, protocol))
    assert unpacked(packed(text, protocol), "tests") == text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_runs(protocol: int, tmp_path: Path) -> None:
    """A pickle that would run a command is refused, and its command never runs."""
    target = tmp_path / "ran"
    hostile = packed(Command(f"touch {target}"), protocol)
    with pytest.raises(DatasetError, match="not loaded"):
        unpacked(hostile, "tests")
    assert not target.exists()


@pytest.mark.parametrize("value", [["a", "b"], ("a",), {"a": "b"}, 3, None, b"text", {"a"}])
def test_only_one_str_is_accepted(value: Any) -> None:
    """Containers, numbers and bytes are errors that say so."""
    with pytest.raises(DatasetError, match=r"tests (holds a pickle|is compressed)"):
        unpacked(packed(value, 4), "tests")


def test_a_second_str_is_refused() -> None:
    """A pickle that is loaded would be the last, so one that has two is no packed text."""
    two = base64.b64encode(zlib.compress(b"\x80\x04\x8c\x01a\x8c\x01b.")).decode()
    with pytest.raises(DatasetError, match="something else than one str"):
        unpacked(two, "tests")


@given(st.binary(max_size=200))
def test_garbage_is_a_dataset_error(garbage: bytes) -> None:
    """Whatever is in the base64, compressed or not, the error is a DatasetError."""
    for content in (garbage, zlib.compress(garbage), packed("text")[:20].encode()):
        with pytest.raises(DatasetError):
            unpacked(base64.b64encode(content).decode(), "tests")


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed text that claims more than the limit is refused before it is in memory."""
    monkeypatch.setattr(packed_text, "LARGEST", 1 << 16)
    with pytest.raises(DatasetError, match="more than 65,536 bytes"):
        unpacked(packed("x" * (1 << 20)), "tests")


def test_a_text_that_is_cut_off_says_so() -> None:
    """Half a download is no text."""
    half = base64.b64encode(zlib.compress(pickle.dumps("x" * 100))[:-6]).decode()
    with pytest.raises(DatasetError, match="cut off"):
        unpacked(half, "tests")


@pytest.mark.parametrize("value", ['{"inputs": []}', "[1, 2]", "[]", "", "short", None, 3, "two words of text here"])
def test_json_is_not_taken_for_packed_text(value: Any) -> None:
    """What begins like JSON, and prose, is not packed."""
    assert not is_packed(value)
