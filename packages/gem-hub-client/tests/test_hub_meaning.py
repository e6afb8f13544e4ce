"""Searching by meaning: stems, synonyms, controlled tags, filters, and the order of equals."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from catalogue_lines import catalogue_of, environment, package
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem_hub_client.catalogue import Catalogue
from gem_hub_client.cli.group import hub_command
from gem_hub_client.filters import NO_FILTERS, Filters
from gem_hub_client.lexicon import LEXICON, controlled_tags, meanings
from gem_hub_client.query_terms import query_terms
from gem_hub_client.search import search
from gem_hub_client.stem import stem
from gem_hub_client.tokenize import tokenize

if TYPE_CHECKING:
    from conftest import HubFolder

PACKAGES = [
    package("bug-hunt", "Repair programs.", environment("bugs:Fix-v0", tags=["domain:code", "skill:debugging"])),
    package(
        "flag-arena", "Capture-the-flag challenges.",
        environment("flags:Pwn-v0", tags=["domain:security"], requires=["docker"]),
        environment("flags:Cipher-v0", "Break a cipher.", tags=["domain:security"]),
    ),
    package(
        "figures", "Angles in drawn figures.",
        environment("fig:Angle-v0", tags=["domain:mathematics"], modality=["text", "image"], turns="single"),
    ),
    package("sums", "Sums of integers.", environment("sums:Add-v0", tags=["domain:mathematics"], turns="single")),
    package("crate-push", "Push crates onto marks.", environment("crates:Push-v0", requires=["docker"])),
]  # fmt: skip


@pytest.fixture(scope="module", params=["fts", "like"])
def catalogue(request: pytest.FixtureRequest) -> Iterable[Catalogue]:
    """The packages above, with and without FTS5."""
    with catalogue_of(PACKAGES, fts=request.param == "fts") as made:
        yield made


@cache
def shared(fts: bool) -> Catalogue:
    """Return the packages above for tests that ask many times."""
    return catalogue_of(PACKAGES, fts=fts)


def found(catalogue: Catalogue, query: str, filters: Filters = NO_FILTERS) -> list[str]:
    return [hit.record["name"] for hit in search(catalogue, query, filters=filters).hits]


# --- Stems


def sqlite_stems(words: list[str]) -> list[str]:
    """Return the stems of SQLite's porter tokenizer."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize='porter ascii')")
        connection.executemany("INSERT INTO texts VALUES (?)", [(word,) for word in words])
        connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (texts, instance)")
        stems = dict(connection.execute("SELECT doc, term FROM terms").fetchall())
    return [stems[number] for number in range(1, len(words) + 1)]


ENDINGS = [
    *("s", "es", "ed", "eed", "ing", "ings", "y", "ies", "sses", "e", "l", "ll", "ational", "tional", "enci", "anci"),
    *("izer", "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti", "logi"),
    *("icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance", "ence", "er", "ic", "able", "ible"),
    *("ant", "ement", "ment", "ent", "ion", "sion", "tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
]
WORDS = st.tuples(
    st.text("abeiostlyzw", min_size=1, max_size=6), st.sampled_from(ENDINGS), st.sampled_from(["", *ENDINGS])
)


@given(st.lists(WORDS, min_size=1))
def test_stems_are_those_of_sqlite(parts: list[tuple[str, str, str]]) -> None:
    """Two independent programs of Porter's algorithm agree on any word that a language could have.

    SQLite departs from the paper in doubled y, and in words of nothing but an ending.
    """
    words = [word for word in map("".join, parts) if "yy" not in word and len(word) > 4]
    assert [stem(word) for word in words] == sqlite_stems(words)


def test_short_words_keep_or_get_their_e() -> None:
    """The rules on short syllables, word by word, as SQLite has them."""
    words = [
        "boxed", "fixing", "snowing", "saying", "hoping", "hopping", "filing", "falling", "failing", "tanned", "fizzed",
        "hissing", "controlled",
    ]  # fmt: skip
    assert [stem(word) for word in words] == sqlite_stems(words)


def test_families_share_a_stem() -> None:
    """The forms of a word have one stem; other alphabets, numbers and short words stay as they are."""
    for family in ("code codes coded coding coder", "prove proves proving", "negotiation negotiate negotiating"):
        assert len({stem(word) for word in family.split()} - {"coder"}) == 1, family
    assert [stem(word) for word in ("数独", "v0", "as", "судоку", "2048")] == ["数独", "v0", "as", "судоку", "2048"]


# --- Meaning


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("coding", "bug-hunt"),
        ("fixing bugs in software", "bug-hunt"),
        ("repairing a program", "bug-hunt"),
        ("CTF", "flag-arena"),
        ("cybench", "flag-arena"),
        ("hackers", "flag-arena"),
        ("capture the flags", "flag-arena"),
        ("images geometry", "figures"),
        ("maths with pictures", "figures"),
        ("summing integer", "sums"),
        ("sokoban", "crate-push"),
    ],
)
def test_other_words_find_what_was_meant(catalogue: Catalogue, query: str, first: str) -> None:
    """Word families, synonyms of the field and controlled tags find what no word of the query stands in."""
    assert found(catalogue, query)[:1] == [first]


def test_each_kind_of_meaning_finds_alone() -> None:
    """A family without synonyms, a controlled tag before a free one, and a phrase for a word each find what fits."""
    lines = [
        package("torches", "Juggles torches."),
        package("aid", "", environment("aid:Free-v0", tags=["medicine"])),
        package("zebra", "", environment("zeb:Round-v0", tags=["domain:medicine"])),
        package("bastion", "Capture-the-flag challenges."),
        package("parade", "A flag for every day."),
    ]
    for fts in (True, False):
        with catalogue_of(lines, fts=fts) as made:
            assert found(made, "juggling") == ["torches"]
            assert found(made, "clinical") == ["zebra", "aid"]
            assert found(made, "pwn") == ["bastion"]


def test_one_environment_with_all_words_comes_before_two_that_share_them() -> None:
    """A description is of one environment; what a package has only between its environments counts for less."""
    split = package("split", "", environment("a:One-v0", "a game of luck"), environment("a:Two-v0", "a code of law"))
    whole = package(
        "whole", "", environment("b:One-v0", "a game with a code"), environment("b:Two-v0", "something else")
    )
    with catalogue_of([split, whole]) as catalogue:
        assert [hit.record["name"] for hit in search(catalogue, "a game with a code").hits] == ["whole", "split"]


@pytest.mark.parametrize("query", ["where is the code that you guess", "guess code", "what can I do to guess a code"])
def test_small_words_take_no_place(query: str) -> None:
    """Words that every sentence has neither tell anything nor use up the words that count."""
    assert [term.word for term in query_terms(query)] in (["code", "guess"], ["guess", "code"])


def test_the_word_itself_comes_before_its_family() -> None:
    """An exact word beats its stem, and both beat a synonym."""
    lines = [package("one", "Code."), package("two", "Codes."), package("three", "Software.")]
    with catalogue_of(lines) as made:
        assert found(made, "codes") == ["two", "one", "three"]


def test_a_phrase_means_nothing_by_one_of_its_words(catalogue: Catalogue) -> None:
    """'capture the flag' stands for CTF; 'capture' alone does not."""
    (meant,) = {meaning for _, _, meaning in meanings(["capture", "the", "flag"])}
    assert ("ctf",) in meant.phrases
    assert list(meanings(["capture"])) == []


def test_the_lexicon_is_written_as_queries_are_read() -> None:
    """Each phrase is in the words that a query is cut into, and stands in its entry once."""
    document = json.loads(LEXICON.read_bytes())
    for text in (*document["tags"].values(), *document["synonyms"]):
        phrases = [phrase.split() for phrase in text.split(",")]
        assert [tokenize(" ".join(phrase)) for phrase in phrases] == phrases, text
        assert len({tuple(phrase) for phrase in phrases}) == len(phrases), text


# --- Filters


@pytest.mark.parametrize(
    ("query", "filters", "names"),
    [
        ("", Filters(modality=("image",)), ["figures"]),
        ("", Filters(domain=("mathematics",)), ["figures", "sums"]),
        ("", Filters(domain=("mathematics",), modality=("image", "text"), turns="single"), ["figures"]),
        ("", Filters(namespace="FLAGS"), ["flag-arena"]),
        ("", Filters(skill=("debugging",), domain=("code",)), ["bug-hunt"]),
        ("", Filters(skill=("debugging",), domain=("security",)), []),
        ("", Filters(needs=("docker",)), ["crate-push", "flag-arena"]),
        ("", Filters(needs=("docker",), needs_no=("docker",)), []),
        ("ctf", Filters(needs_no=("docker",)), ["flag-arena"]),
        ("push crates", Filters(needs_no=("docker",)), []),
        ("sum", Filters(turns="multi"), []),
    ],
)
def test_filters_narrow(catalogue: Catalogue, query: str, filters: Filters, names: list[str]) -> None:
    """One environment of a package must meet all filters; an empty query lists what does."""
    assert sorted(found(catalogue, query, filters)) == names


def test_a_hit_has_the_environments_that_meet_the_filters(catalogue: Catalogue) -> None:
    """Of a package, only what does without Docker is shown."""
    (hit,) = search(catalogue, "ctf", filters=Filters(needs_no=("docker",))).hits
    assert [entry["id"] for entry in hit.environments] == ["flags:Cipher-v0"]
    assert hit.told_apart


def test_filters_see_past_what_they_exclude() -> None:
    """What a filter excludes takes no place among the proposals, however much there is of it."""
    lines = [
        package(f"pack-{number}", "Mazes.", environment(f"p{number}:Maze-v0", requires=["docker"], turns="single"))
        for number in range(400)
    ]
    lines.insert(0, package("zz-free", "Mazes.", environment("zz:Maze-v0", tags=["skill:navigation"])))
    for fts in (True, False):
        with catalogue_of(lines, fts=fts) as made:
            assert found(made, "maze", Filters(needs_no=("docker",))) == ["zz-free"]
            assert found(made, "", Filters(turns="multi")) == ["zz-free"]
            assert found(made, "maze", Filters(skill=("navigation",))) == ["zz-free"]


FILTERS = st.builds(
    Filters,
    needs=st.sampled_from([(), ("docker",)]),
    needs_no=st.sampled_from([(), ("docker",), ("gpu",)]),
    modality=st.sampled_from([(), ("image",), ("text",), ("audio",)]),
    domain=st.sampled_from([(), ("mathematics",), ("security",)]),
    namespace=st.sampled_from(["", "fig", "flags", "\"'"]),
    turns=st.sampled_from(["", "single", "multi"]),
)


@given(filters=FILTERS, query=st.sampled_from(["", "angle", "ctf", "sums crates"]))
def test_the_index_excludes_nothing_that_is_admitted(filters: Filters, query: str) -> None:
    """Narrowing in the index finds what filtering every hit of the unfiltered search finds."""
    admitted = {line["name"] for line in PACKAGES if any(filters.admits(entry) for entry in line["environments"])}
    for fts in (True, False):
        made = shared(fts)
        everything = set(found(made, query)) if query else {line["name"] for line in PACKAGES}
        if query or filters:
            assert everything & admitted <= set(found(made, query, filters)) <= admitted


# --- Ties


def test_equals_are_ordered_by_conformance_and_age() -> None:
    """What the hub tested comes before the author's word, that before nothing, and newer before older."""
    tested = {"gem_core": "0.1.0", "holds": 57, "violated": 0, "source": "hub"}
    lines = [
        package("maze-a", "Mazes.", published="2026-01-01T00:00:00Z"),
        package("maze-b", "Mazes.", published="2026-03-01T00:00:00Z"),
        package("maze-c", "Mazes.", published="2025-01-01T00:00:00Z", conformance={**tested, "source": "author"}),
        package("maze-d", "Mazes.", published="2024-01-01T00:00:00Z", conformance=tested),
        package("maze-e", "Mazes.", published="2026-06-01T00:00:00Z", conformance={**tested, "violated": 1}),
    ]
    with catalogue_of(lines) as made:
        assert found(made, "maze") == ["maze-d", "maze-c", "maze-b", "maze-a", "maze-e"]


# --- The command


def run(*arguments: str) -> Any:
    return CliRunner().invoke(hub_command, ["search", *arguments], prog_name="gem hub")


def test_the_command_has_every_filter(hub_folder: HubFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters work with and without words, and JSON says which were given."""
    hub_folder.begin(PACKAGES, 3)
    monkeypatch.setenv("GEM_HUB", str(hub_folder.folder))

    def names(*arguments: str) -> list[str]:
        answer = json.loads(run(*arguments, "--json").stdout)
        return [row["name"] for row in answer["packages"]]

    assert names("--modality", "image") == ["figures"]
    assert names("--namespace", "fig:") == ["figures"]
    assert names("ctf", "--needs-no", "docker") == ["flag-arena"]
    assert sorted(names("--domain", "mathematics", "--turns", "single")) == ["figures", "sums"]
    assert names("--skill", "debugging") == ["bug-hunt"]
    assert names("--needs", "docker", "--namespace", "crates") == ["crate-push"]
    answer = json.loads(run("ctf", "--needs-no", "docker", "--turns", "multi", "--json").stdout)
    assert answer["filters"] == {"needs_no": ["docker"], "turns": "multi"}
    assert [entry["id"] for entry in answer["packages"][0]["environments"]] == ["flags:Cipher-v0"]
    assert "flag-arena" in run("ctf", "--needs-no", "docker").stdout


def test_wrong_filters_are_explained(hub_folder: HubFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown tag is named with the nearest; filters that nothing meets are named as the reason."""
    hub_folder.begin(PACKAGES, 3)
    monkeypatch.setenv("GEM_HUB", str(hub_folder.folder))
    assert "no environment has --domain mathematic; did you mean 'mathematics'?" in run("--domain", "mathematic").stderr
    assert "there are arithmetic, calibration, " in run("--skill", "zzz").stderr
    done = run("ctf", "--turns", "single")
    assert (done.exit_code, done.stderr) == (
        1, "Error: no package or environment fits 'ctf' and the filters; try fewer filters\n",
    )  # fmt: skip
    assert "name what to search for, or a filter" in run().stderr
    assert {"code", "mathematics"} <= {*controlled_tags("domain")}
