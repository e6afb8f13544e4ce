"""The grammar of environment ids."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import InvalidIdError
from gem.ids import EnvId, normalized_distribution, parse_id

NAMESPACES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,8}", fullmatch=True)
WORDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("game:Sudoku-v0-easy", (None, "game", "Sudoku", 0, "easy")),
        ("game:Sudoku-v0", (None, "game", "Sudoku", 0, None)),
        ("game:Game2048-v0-extreme-hard", (None, "game", "Game2048", 0, "extreme-hard")),
        ("rg:arc_1d", (None, "rg", "arc_1d", None, None)),
        ("math:GSM8K", (None, "math", "GSM8K", None, None)),
        ("my-envs/game:Sudoku-v12", ("my-envs", "game", "Sudoku", 12, None)),
        ("game:Sudoku-easy", (None, "game", "Sudoku-easy", None, None)),
        ("game:Sudoku-v", (None, "game", "Sudoku-v", None, None)),
        ("game:Sudoku-v01", (None, "game", "Sudoku-v01", None, None)),
        ("game:Sudoku-v1234567890", (None, "game", "Sudoku-v1234567890", None, None)),
        ("game:A-v1-v2", (None, "game", "A", 1, "v2")),
        ("a:v0", (None, "a", "v0", None, None)),
    ],
)
def test_ids_are_split_into_their_parts(text: str, parts: tuple[object, ...]) -> None:
    """Owner, namespace, name, version and variant are what the grammar says."""
    assert tuple(parse_id(text)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sudoku",
        "Sudoku-v0",
        "game:",
        ":Sudoku",
        "game:Sudoku ",
        " game:Sudoku",
        "game:Sudoku\n",
        "game::Sudoku",
        "/game:Sudoku",
        "a/b/game:Sudoku",
        "game:-v0",
        "1game:Sudoku",
        "game:Sud/oku",
        "game:../../etc/passwd",
        "gäme:Sudoku",
        "game:Sudoku-v٣ ",
        "game:" + "\ud800",
        None,
        7,
        b"game:Sudoku",
        ["game:Sudoku"],
    ],
)
def test_everything_else_is_refused(text: object) -> None:
    """What does not follow the grammar is an InvalidIdError that shows the text and an example."""
    with pytest.raises(InvalidIdError, match="game:Sudoku-v0-easy"):
        parse_id(text)  # type: ignore[arg-type]


@given(NAMESPACES, WORDS)
def test_an_id_survives_the_way_through_its_parts(namespace: str, name: str) -> None:
    """Joining the parts of any valid id gives that id again."""
    text = f"{namespace}:{name}"
    assert parse_id(text).unowned == text


@given(st.none() | WORDS, NAMESPACES, WORDS, st.none() | st.integers(0, 10**6), st.none() | WORDS)
def test_parts_survive_the_way_through_the_text(
    owner: str | None, namespace: str, name: str, version: int | None, variant: str | None
) -> None:
    """Parsing what parts were joined to gives parts that join to the same text, with the same owner."""
    parts = EnvId(owner, namespace, name, version, variant if version is not None else None)
    text = parts.unowned if owner is None else f"{owner}/{parts.unowned}"
    again = parse_id(text)
    assert (again.owner, again.unowned) == (owner, parts.unowned)
    if "-v" not in name:
        assert again == parts


@given(st.text())
def test_any_text_is_an_id_or_refused(text: str) -> None:
    """No text raises anything but InvalidIdError, and what is accepted can be joined again."""
    try:
        parsed = parse_id(text)
    except InvalidIdError:
        return
    assert text.endswith(parsed.unowned)


@pytest.mark.parametrize(
    "text", ["a:" + "-v0" * 300_000, "a:b-v" + "9" * 1_000_000, "a" * 1_000_000, "a:" + "b-" * 500_000, "a/" * 500_000]
)
def test_long_texts_are_parsed_or_refused(text: str) -> None:
    """A megabyte of anything ends in a result: no pattern backtracks over it."""
    with suppress(InvalidIdError):
        assert parse_id(text).unowned == text


def test_distribution_names_compare_as_indexes_compare_them() -> None:
    """Case, and runs of dashes, dots and underscores, make no difference (PEP 503)."""
    assert {normalized_distribution(name) for name in ("Gem_Envs.Games", "gem-envs-games", "GEM--envs__games")} == {
        "gem-envs-games"
    }
