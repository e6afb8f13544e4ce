"""Searching: what is found, in which order, by which command, and that no text can break it."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from catalogue_lines import catalogue_of, environment, package
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from gem_hub_client import official
from gem_hub_client.catalogue import Catalogue, fields_of
from gem_hub_client.cli.group import REGISTRY_COMMANDS, hub_command
from gem_hub_client.errors import HubError
from gem_hub_client.ids import base_id
from gem_hub_client.sanitize import sanitize, sanitize_values
from gem_hub_client.search import nearest_word, search
from gem_hub_client.terminal_table import Table, _folded
from gem_hub_client.tokenize import tokenize
from gem_hub_client.typo import corrections, delete_keys, distance

if TYPE_CHECKING:
    from conftest import HubFolder


PACKAGES = [
    package(
        "gem-envs-games",
        "Text games for agents.",
        environment(
            "game:Sudoku-v0", "Fill a grid, one cell a turn.", tags=["logic", "grid"], variants=["easy", "hard"]
        ),
        environment("game:GuessTheNumber-v0", "Find a hidden number.", tags=["search"]),
        environment("game:Game2048-v0", "Slide and merge tiles.", tags=["grid"]),
    ),
    package("gem-envs-sudoku", "Nothing but numbers.", environment("sud:Classic-v0", "The usual grid.")),
    package("puzzle-pack", "Sudoku and other puzzles.", environment("pack:Kakuro-v1", "Sums in a grid.")),
    package("gem-envs-qa", "Questions.", environment("qa:HotpotQA", "Multi-hop.", requires=["network"])),
    package("dice", "Throws.", environment("dice:Yacht-v0", "Throw five dice.", requires=["docker"])),
    package("maze-a", "Mazes.", environment("maze:Old-v0"), status="deprecated", reason="use maze-b"),
    package("maze-b", "Mazes.", environment("maze:New-v0")),
    package("evil", "A sudoku that is none.", environment("evil:Sudoku-v0"), status="quarantined", reason="malware"),
    package("cafe", "Ünïcödé café, 数独 and Судоку.", environment("cafe:Menu-v0", "Straße")),
]


@pytest.fixture(scope="module", params=["fts", "like"])
def catalogue(request: pytest.FixtureRequest) -> Iterable[Catalogue]:
    """The packages above, with and without FTS5."""
    with catalogue_of(PACKAGES, fts=request.param == "fts") as made:
        assert made.has_fts == (request.param == "fts")
        yield made


def found(catalogue: Catalogue, query: str) -> list[str]:
    return [hit.record["name"] for hit in search(catalogue, query).hits]


# --- What is found


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("sudoku", "gem-envs-sudoku"), ("gem-envs-sudoku", "gem-envs-sudoku"), ("GEM_envs.Sudoku", "gem-envs-sudoku"),
        ("game:Sudoku-v0", "gem-envs-games"), ("game:Sudoku-v0-easy", "gem-envs-games"),
        ("GAME:sudoku-v0", "gem-envs-games"), ("games", "gem-envs-games"), ("guess the number", "gem-envs-games"),
        ("guessthenumber", "gem-envs-games"), ("GuessTheNumber", "gem-envs-games"), ("2048", "gem-envs-games"),
        ("hidden number", "gem-envs-games"), ("kakuro", "puzzle-pack"), ("puzzlepack", "puzzle-pack"),
        ("puzzle_pack", "puzzle-pack"), ("network", "gem-envs-qa"), ("docker dice", "dice"), ("qa", "gem-envs-qa"),
        ("q", "gem-envs-qa"), ("sudo", "gem-envs-sudoku"), ("unicode cafe", "cafe"), ("STRASSE", "cafe"),
        ("数独", "cafe"), ("судоку", "cafe"), ("the sudoku", "gem-envs-sudoku"), ("maze", "maze-b"),
        ("sudoku nonsenseword", "gem-envs-sudoku"),
    ],
)  # fmt: skip
def test_what_a_person_types_finds_what_was_meant(catalogue: Catalogue, query: str, first: str) -> None:
    """Names, ids, parts of CamelCase, tags, needs and descriptions find their package, whatever the spelling."""
    assert found(catalogue, query)[:1] == [first]


@pytest.mark.parametrize(
    ("query", "first", "taken"),
    [
        ("sudokku", "gem-envs-sudoku", {"sudokku": "sudoku"}),
        ("usdoku", "gem-envs-sudoku", {"usdoku": "sudoku"}),
        ("sudku", "gem-envs-sudoku", {"sudku": "sudoku"}),
        ("sudoki", "gem-envs-sudoku", {"sudoki": "sudoku"}),
        ("hiden numbr", "gem-envs-games", {"hiden": "hidden", "numbr": "number"}),
        ("gessthenumber", "gem-envs-games", {"gessthenumber": "guessthenumber"}),
        ("kakro grid", "puzzle-pack", {"kakro": "kakuro"}),
        ("sudo ku", "gem-envs-sudoku", {}),
        ("gem-envs-gamse", "gem-envs-games", {"gamse": "games"}),
    ],
)
def test_mistyped_words_are_corrected(catalogue: Catalogue, query: str, first: str, taken: dict[str, str]) -> None:
    """A word with one edit finds what was meant, and the answer says which word was taken instead."""
    answer = search(catalogue, query)
    assert answer.hits[0].record["name"] == first
    assert {typed: word for typed, word in answer.corrected.items() if typed in taken} == taken


def test_a_word_that_fits_is_not_corrected(catalogue: Catalogue) -> None:
    """Where a word is in the catalogue, its neighbours are not searched for."""
    with catalogue_of([*PACKAGES, package("sudoki", "Another.")]) as made:
        assert found(made, "sudoki") == ["sudoki"]


def test_environments_that_fit_are_told_from_those_that_do_not(catalogue: Catalogue) -> None:
    """A hit shows the environments that the query is about, or all where it is about the package."""
    hit = next(hit for hit in search(catalogue, "game sudoku").hits if hit.record["name"] == "gem-envs-games")
    assert [environment["id"] for environment in hit.environments] == ["game:Sudoku-v0"]
    assert hit.told_apart
    (hit,) = search(catalogue, "agents").hits
    assert len(hit.environments) == 3
    assert not hit.told_apart


def test_quarantined_packages_are_known_and_never_shown(catalogue: Catalogue) -> None:
    """A quarantined package is in the catalogue, for an audit, and in no answer."""
    assert catalogue.record("evil") is not None
    assert "evil" not in found(catalogue, "sudoku") + found(catalogue, "evil") + found(catalogue, "evil:Sudoku-v0")


def test_deprecated_packages_come_last(catalogue: Catalogue) -> None:
    """Of two that fit alike, the one that should be used comes first."""
    assert found(catalogue, "maze") == ["maze-b", "maze-a"]


def test_the_nearest_word_is_offered(catalogue: Catalogue) -> None:
    """Where nothing fits, the closest word of the catalogue is named; where nothing is close, none."""
    assert found(catalogue, "sudkookuu") == []
    assert nearest_word(catalogue, "sudkookuu") == "sudoku"
    assert nearest_word(catalogue, "zzzzzz") is None
    assert nearest_word(catalogue, "") is None


def test_the_limit_holds(catalogue: Catalogue) -> None:
    """No more hits than were asked for, and the best ones."""
    assert len(search(catalogue, "sudoku", limit=1).hits) == 1


def test_both_engines_find_the_same() -> None:
    """Without FTS5 the answers are the same packages in the same order."""
    with catalogue_of(PACKAGES, fts=True) as fast, catalogue_of(PACKAGES, fts=False) as slow:
        for query in ("sudoku", "grid", "game", "hidden number", "sudokku", "guessthenumber", "qa", "maze"):
            assert found(fast, query) == found(slow, query), query


def test_words_that_everybody_has_are_affordable() -> None:
    """A word of thousands of packages is answered from the names first, and bounded."""
    lines = [package(f"pack-{number}", "All of them have common words.") for number in range(4000)]
    lines += [package("common", "Rare."), package("zebra-common", "Also all of them.")]
    with catalogue_of(lines) as made:
        assert found(made, "common")[:2] == ["common", "zebra-common"]
        assert found(made, "common words zebra")[0] == "zebra-common"
        assert len(search(made, "all of them", limit=100).hits) <= 100


# --- Any text


TRAPS = [
    "", " ", '"', "'", '""', "*", "s*", "a AND", "NOT", "OR OR", "NEAR(a b)", "names: sudoku", "{names ids} : x",
    "^sudoku", "sudoku + 2048", "-sudoku", "(", ")", "a\0b", "\0", "%", "_", "\\", ";", "'; DROP TABLE package; --",
    "🎲", "🎲 dice", "\ud800", "0\ud800", "\x1b[2J", "\u202egnp", "ﬁﬂ", "İ", "ß", "a" * 10_000, "a " * 5_000, "é" * 300,
    "1", "٣", "½", "game:", ":", "::", "owner/game:Sudoku-v0", "v0", "the", "the of and", "gem-envs-", "gem_envs", "-",
    "--help",
]  # fmt: skip


@pytest.mark.parametrize("query", TRAPS)
def test_no_trap_breaks_a_search(catalogue: Catalogue, query: str) -> None:
    """Quotes, operators of FTS5 and SQL, NUL, emoji, surrogates and very long texts are words or nothing."""
    search(catalogue, query)
    nearest_word(catalogue, query)


TEXT = st.text(st.characters() | st.sampled_from("\"'*:^-+(){}%_\\\0 sudoku"), max_size=60)


@given(query=TEXT)
def test_any_text_is_a_query(query: str) -> None:
    """No text makes a search raise, with FTS5 or without."""
    for fts in (True, False):
        made = _shared(fts)
        search(made, query)
        nearest_word(made, query)


@given(query=st.sampled_from(["sudoku", "kakuro", "guessthenumber", "hidden"]), data=st.data())
def test_every_edit_of_a_word_is_corrected(query: str, data: st.DataObject) -> None:
    """Any one insertion, deletion, substitution or swap leads back to the word."""
    place = data.draw(st.integers(0, len(query) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    typed = data.draw(
        st.sampled_from(
            [
                query[:place] + letter + query[place:],
                query[:place] + query[place + 1 :],
                query[:place] + letter + query[place + 1 :],
                query[:place] + query[place : place + 2][::-1] + query[place + 2 :],
            ]
        )
    )
    if typed == query:
        return
    assert distance(query, typed) == 1
    assert query in [correction.word for correction in corrections(_shared(True).connection, typed)]


_CATALOGUES: dict[bool, Catalogue] = {}


def _shared(fts: bool) -> Catalogue:
    if fts not in _CATALOGUES:
        _CATALOGUES[fts] = catalogue_of(PACKAGES, fts=fts)
    return _CATALOGUES[fts]


@given(st.text(max_size=12), st.text(max_size=12))
def test_distance_is_symmetric_and_bounded(first: str, second: str) -> None:
    """The edit distance is 0 for equal texts alone, the same both ways, and never more than the longer text."""
    assert (distance(first, second) == 0) == (first == second)
    assert distance(first, second) == distance(second, first) <= max(len(first), len(second))


def test_keys_are_bounded() -> None:
    """Too short and too long words, and numbers, are not filed at all."""
    assert delete_keys("ab") == delete_keys("x" * 41) == delete_keys("2048") == set()
    assert len(delete_keys("x" * 40)) == 2
    assert len(delete_keys("sudoku")) == 7


@given(st.text("abcd", min_size=4, max_size=7), st.lists(st.text("abcd", min_size=4, max_size=7), max_size=6))
def test_words_that_come_later_are_filed_beside_the_first(first: str, later: list[str]) -> None:
    """Corrections are the same whether the words of a catalogue came in one update or in one each."""
    words = list(dict.fromkeys([first, *later]))
    with catalogue_of([]) as at_once, catalogue_of([]) as one_by_one:
        for number, word in enumerate(words):
            one_by_one.apply([package("p" + str(number), word)], number)
        at_once.apply([package("p" + str(number), word) for number, word in enumerate(words)], len(words))
        for word in words:
            found = corrections(at_once.connection, word, limit=99)
            assert found == corrections(one_by_one.connection, word, limit=99)
            near = {other for other in words if other != word and distance(word, other) == 1}
            assert near <= {correction.word for correction in found}


@given(st.text(st.one_of(st.sampled_from("aAbB0_ .-"), st.characters()), max_size=60))
def test_words_are_those_of_the_whole_text(text: str) -> None:
    """A text splits as it does when its seams are found in one piece, capitals and accents aside."""
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(character for character in decomposed if not unicodedata.combining(character))
    folded = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{2})(?=[0-9])", " ", bare).casefold()
    assert tokenize(text) == [word[:40] for word in re.findall(r"[^\W_]+", folded)]


@given(st.text())
def test_words_are_plain(text: str) -> None:
    """Words have no space, quote or capital in them, and cutting them again changes nothing that can be looked up."""
    for word in tokenize(text):
        assert 0 < len(word) <= 40
        assert word.isalnum()


def test_words_are_cut_at_every_seam() -> None:
    """CamelCase, numbers at the end, hyphens, underscores and colons separate words."""
    assert tokenize("game:GuessTheNumber-v0") == ["game", "guess", "the", "number", "v0"]
    assert tokenize("HTTPServer arc_1d Game2048") == ["http", "server", "arc", "1d", "game", "2048"]
    assert base_id("game:Sudoku-v0-very-hard") == "game:Sudoku-v0"
    assert base_id("rg:arc_1d") == "rg:arc_1d"


# --- Changes


LINES = st.builds(
    package,
    st.sampled_from(["alpha", "beta", "gem-envs-gamma", "delta-one"]),
    st.sampled_from(["", "Logic of grids.", "Words and numbers.", "Ünïcödé"]),
    st.builds(
        environment, st.sampled_from(["a:Maze-v0", "b:WordGame-v1-easy", "c:Sum"]), st.sampled_from(["", "A maze."])
    ),
    status=st.sampled_from(["active", "deprecated", "quarantined"]),
) | st.sampled_from([{"name": "alpha", "removed": True}, {"name": "beta", "removed": True}])


@given(batches=st.lists(st.lists(LINES, max_size=4), max_size=6), fts=st.booleans())
def test_changes_leave_what_a_fresh_catalogue_has(batches: list[list[dict[str, Any]]], fts: bool) -> None:
    """Whatever lines replace which, the index is that of a catalogue into which only the last ones were put."""
    last = {line["name"]: line for batch in batches for line in batch}
    with Catalogue.create(None, fts=fts) as changed, Catalogue.create(None, fts=fts) as fresh:
        for serial, batch in enumerate(batches):
            changed.apply(batch, serial)
        fresh.apply(last.values(), len(batches))
        assert list(changed.records()) == list(fresh.records())
        assert _index(changed) == _index(fresh)
        for query in ("maze", "logic grids", "gamma", "wrods", "alpha", "b:WordGame-v1"):
            assert found(changed, query) == found(fresh, query)


def _index(catalogue: Catalogue) -> tuple[Any, ...]:
    """Return all that the indexes hold, without the numbers of rows."""
    ask = catalogue.connection.execute
    texts: list[Any] = []
    if catalogue.has_fts:
        ask("CREATE VIRTUAL TABLE temp.terms USING fts5vocab (main, texts, col)")
        texts = ask("SELECT term, col, doc, cnt FROM temp.terms ORDER BY term, col").fetchall()
    counts = ask("SELECT word, count FROM word WHERE count != 0 ORDER BY word").fetchall()
    pairs = ask(
        "SELECT environment.id, name FROM environment JOIN package ON package = package.id ORDER BY 1, 2"
    ).fetchall()
    return texts, counts, pairs


def test_the_fields_of_a_package() -> None:
    """Each field holds its words once, names also in one piece, the common beginning of names left out."""
    fields = fields_of(PACKAGES[0])
    assert fields.names == "games"
    assert set(fields.ids.split()) >= {"game", "sudoku", "v0", "easy", "guess", "guessthenumber", "2048", "game2048"}
    assert fields.tags == "logic grid 0multiturns search"


# --- Commands


def run(*arguments: str) -> Result:
    return CliRunner().invoke(hub_command, list(arguments), prog_name="gem hub")


@pytest.fixture
def folder_hub(hub_folder: HubFolder, monkeypatch: pytest.MonkeyPatch) -> HubFolder:
    """A folder hub of the packages above, the only one that is configured."""
    hub_folder.begin(PACKAGES, 3)
    monkeypatch.setenv("GEM_HUB", str(hub_folder.folder))
    return hub_folder


def test_search_prints_a_table(folder_hub: HubFolder) -> None:
    """One row a package: version, environments that fit, conformance, needs and the install line."""
    done = run("search", "dice")
    assert done.exit_code == 0
    header, row = done.stdout.splitlines()
    assert header.split() == ["package", "version", "environments", "conformance", "needs", "install"]
    assert row.split() == ["dice", "1.0", "dice:Yacht-v0", "not", "tested", "docker", "gem", "hub", "install", "dice"]


def test_search_prints_json(folder_hub: HubFolder) -> None:
    """The same for programs, with the hub that each package is from."""
    done = run("search", "kakuro", "--json")
    answer = json.loads(done.stdout)
    (row,) = answer["packages"]
    assert (row["name"], row["hub"], row["install"]) == (
        "puzzle-pack", str(folder_hub.folder), "gem hub install puzzle-pack",
    )  # fmt: skip
    assert [environment["id"] for environment in row["environments"]] == ["pack:Kakuro-v1"]
    assert answer["hubs"][0]["serial"] == 3


def test_nothing_found_is_exit_code_1(folder_hub: HubFolder) -> None:
    """A query that nothing fits ends with 1, one sentence and the nearest word."""
    done = run("search", "sudkookuu")
    assert done.exit_code == 1
    assert done.stderr == "Error: no package or environment fits 'sudkookuu'; did you mean 'sudoku'?\n"
    assert run("search", "zzzzzz").stderr.endswith("'gem hub update' loads what is new\n")
    done = run("search", "zzzzzz", "--json")
    assert (done.exit_code, json.loads(done.stdout)["packages"]) == (1, [])


def test_a_correction_is_said_on_stderr(folder_hub: HubFolder) -> None:
    """A person learns that another word was searched for, and a pipe does not."""
    done = run("search", "kakro")
    assert "nothing has 'kakro'; this is what has 'kakuro'" in done.stderr
    assert "Note" not in done.stdout


def test_several_hubs_show_where_a_package_is_from(
    folder_hub: HubFolder, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first hub that has a package is the one that counts, and the table has a column for it."""
    other = type(folder_hub)(own_folders / "other")
    other.begin([package("dice", "Another dice.", version="9.9"), package("more-dice", "Dice.")], 2)
    monkeypatch.setenv("GEM_HUB", f"{folder_hub.folder} {other.folder}")
    rows = json.loads(run("search", "dice", "--json").stdout)["packages"]
    assert {(row["name"], row["version"], row["hub"]) for row in rows} == {
        ("dice", "1.0", str(folder_hub.folder)),
        ("more-dice", "1.0", str(other.folder)),
    }
    assert run("search", "dice").stdout.splitlines()[0].split()[-1] == "hub"


HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eevil\u2066\u200f\x00\r\nnext\ud800"


def test_hostile_texts_cannot_reach_a_terminal(folder_hub: HubFolder) -> None:
    """Escape sequences and direction marks in a hub's texts are gone from whatever the commands print."""
    line = package(
        "trap", HOSTILE, environment("trap:Sudoku-v0", HOSTILE, requires=[HOSTILE], variants=[HOSTILE]),
        version=f"1{HOSTILE[:-1]}", reason=HOSTILE[:-1], status="deprecated", licence=HOSTILE, published=HOSTILE,
        conformance={"gem_core": HOSTILE, "holds": 1}, sha256="0" * 64, size=1,
    )  # fmt: skip
    folder_hub.begin([folder_hub.promising(line, owners=[HOSTILE])], 4)
    folder_hub.page(line, owners=[HOSTILE])
    for arguments in (
        ["search", "trap"],
        ["info", "trap"],
        ["list"],
        ["search", "trap", "--json"],
        ["info", "trap", "--json"],
    ):
        done = run(*arguments)
        assert done.exit_code == 0, done.output
        assert "evil" in done.output
        bad = [c for c in done.output if c != "\n" and (not c.isprintable() or "\ud800" <= c <= "\udfff")]
        assert bad == [], arguments
        assert not any(row.strip() == "next" for row in done.output.splitlines())


@given(st.text())
def test_plain_text_has_no_controls(text: str) -> None:
    """What is left has no C0 or C1 control and no direction mark, and plain text stays as it is."""
    made = sanitize(text)
    assert not set(made) & {*map(chr, [*range(32), *range(127, 160), 0x202E, 0x2066, 0x200F, 0xFEFF])}
    assert sanitize(made) == made
    assert sanitize_values({text: [text, 1, None]}) == {made: [made, 1, None]}


def test_info_shows_a_package_or_the_one_that_offers_an_environment(folder_hub: HubFolder) -> None:
    """A package's name and an environment's id lead to the same page."""
    line = {**PACKAGES[0], "sha256": "0" * 64, "size": 5, "published": "2026-11-21T08:00:00Z"}
    folder_hub.begin([folder_hub.promising(line)], 4)
    folder_hub.page(line)
    shown = run("info", "GEM_envs_games")
    assert shown.exit_code == 0, shown.output
    for text in (
        "gem-envs-games 1.0",
        "game:Sudoku-v0",
        "easy, hard",
        "somebody",
        "0" * 64,
        "gem hub install gem-envs-games",
    ):
        assert text in shown.output
    assert run("info", "game:sudoku-v0-easy").output == shown.output
    assert json.loads(run("info", "gem-envs-games", "--json").stdout)["releases"][0]["version"] == "1.0"
    assert "no package offers 'game:Chess-v0'" in run("info", "game:Chess-v0").output


def test_list_shows_all_that_can_be_installed(folder_hub: HubFolder) -> None:
    """Every package but quarantined ones, with its status; tags narrow it."""
    rows = [row.split("  ")[0].strip() for row in run("list").stdout.splitlines()[1:-2]]
    assert rows == sorted(line["name"] for line in PACKAGES if line["name"] != "evil")
    assert "1.0 (deprecated)" in run("list").stdout
    assert [row["name"] for row in json.loads(run("list", "--tag", "logic", "--json").stdout)] == ["gem-envs-games"]
    assert "no such package" in run("list", "--tag", "nothing").stdout


def test_update_says_what_has_changed(folder_hub: HubFolder) -> None:
    """One line a hub; a hub that cannot be used is an error on stderr and exit code 1."""
    assert f"{folder_hub.folder}: 9 changes, " in run("update").stdout
    assert run("update").stdout == f"{folder_hub.folder}: nothing new (9 packages, serial 3, not signed)\n"
    folder_hub.append(package("new-one"))
    assert json.loads(run("update", "--json").stdout)[0]["changed"] == 1
    (folder_hub.folder / "root.json").write_text("{}")
    done = run("update")
    assert done.exit_code == 1
    assert "root.json: cannot be used" in done.stderr
    assert "error" in json.loads(run("update", "--json").stdout)[0]


def test_commands_of_the_registry_are_named_where_they_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without gem-hub, 'gem hub rebuild' says what to install, and a mistyped command what was meant."""
    monkeypatch.setattr("gem_hub_client.cli.group.registry_is_installed", lambda: False)
    assert "'gem hub rebuild' comes with gem-hub; run: pip install gem-hub" in run("rebuild").output
    assert "did you mean 'hub search'?" in run("serch").output


def test_a_broken_registry_side_leaves_the_client_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where gem-hub cannot be imported, its commands say so, in the help as well, and all others work."""
    broken = dict.fromkeys(REGISTRY_COMMANDS, "gem_hub_client.nothing_of_this_name:command")
    monkeypatch.setattr("gem_hub_client.cli.group.REGISTRY_COMMANDS", broken)
    monkeypatch.setattr("gem_hub_client.cli.group.registry_is_installed", lambda: True)
    assert "Error: 'gem hub rebuild' cannot be loaded: No module named" in run("rebuild").output
    assert "'gem hub rebuild' cannot be loaded" in run("--help").output
    assert run("search", "sudoku").exit_code == 0


def test_errors_of_the_client_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the client ends 'gem hub' in one line on stderr and exit code 1."""
    monkeypatch.setenv("GEM_HUB", "ftp://hub.example")
    done = run("list")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: 'ftp://hub.example' is no hub's address; ")
    assert done.stderr.count("\n") == 1


def test_cells_fold_between_words_at_any_width() -> None:
    """A folded cell loses no character but spaces at its folds, breaks no word, and fits its width where words do."""
    rng = random.Random(0)
    for _ in range(300):
        text = " ".join("".join(rng.choice("abc-,:") for _ in range(rng.randrange(20))) for _ in range(4)).strip()
        width = rng.randrange(1, 30)
        lines = _folded(text, width)
        longest = max(map(len, text.split()), default=0)
        assert all(len(line) <= max(width, longest) for line in lines)
        assert " ".join(lines).split() == text.split()


@pytest.mark.parametrize(("available", "fits"), [(70, True), (40, True), (29, True), (28, False), (10, False)])
def test_columns_shrink_to_their_longest_word_and_commands_not_at_all(available: int, fits: bool) -> None:
    """Where that does not fit side by side, each row is a paragraph with its command in a line of its own."""
    row = ("dice", "many short words " * 4, "pip install dice")
    table = Table(("name", "words", "install"), rows=[row], whole=["install"])
    widths = table._shrunk([len(cell) for cell in row], available)
    assert (widths is not None) == fits
    if widths is not None:
        assert sum(widths) + 4 <= available
        assert widths[2] == len("pip install dice")
    paragraph = [click.unstyle(line) for line in table._paragraphs(available)]
    assert paragraph[-1] == "  install: pip install dice"
    assert " ".join(paragraph).split() == ["dice", "words", *row[1].split(), "install:", "pip", "install", "dice"]


OFFLINE = """
import socket, sys
def refused(*arguments, **options): raise AssertionError("the network was used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused
from gem_hub_client.cli.group import REGISTRY_COMMANDS, hub_command
hub_command.main(sys.argv[1:], prog_name="gem hub", standalone_mode=False)
print("LOADED", *sorted(sys.modules))
"""


def test_a_script_beside_an_unpacked_source_distribution_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the repository's own folders make a checkout; below a shared folder a script may be anybody's."""
    package = tmp_path / "sources" / "gem_hub_client-0.1.0" / "src" / "gem_hub_client"
    script = tmp_path / "hub" / "official_index.py"
    script.parent.mkdir()
    script.write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    monkeypatch.setattr(official, "_PACKAGE", package)
    monkeypatch.setattr(official, "_SNAPSHOT", package / "official_index")
    with pytest.raises(HubError, match="the snapshot of the official index is missing"):
        official.snapshot_folder()
    assert not (tmp_path / "run").exists()


def test_commands_that_begin_together_derive_the_snapshot_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout one of them runs the script and the others wait, so that none removes what another is writing."""
    package = tmp_path / "packages" / "gem-hub-client" / "src" / "gem_hub_client"
    package.mkdir(parents=True)
    script = tmp_path / "hub" / "official_index.py"
    script.parent.mkdir()
    script.write_text(
        "import pathlib, sys\n"
        "target = pathlib.Path(sys.argv[1])\n"
        "open(target / 'runs', 'a').write('run\\n')\n"
        "(target / 'root.json').touch()\n"
        "(target / 'inputs.json').write_text('{}')\n"
    )
    monkeypatch.setattr(official, "_PACKAGE", package)
    monkeypatch.setattr(official, "_SNAPSHOT", package / "official_index")
    with ThreadPoolExecutor(8) as pool:
        folders = {pool.submit(official.snapshot_folder) for _ in range(8)}
    assert {folder.result() for folder in folders} == {package / "official_index"}
    assert (package / "official_index" / "runs").read_text() == "run\n"


def test_the_official_index_needs_no_network(own_folders: Path) -> None:
    """Right after the installation, without a cache and a network, 'gem hub search sudoku' finds gem-envs-games."""
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, "search", "sudoku"], capture_output=True, text=True, check=True
    )
    assert "gem-envs-games" in done.stdout
    assert "game:Sudoku-v0" in done.stdout
    assert done.stderr == ""


def test_a_search_loads_little(own_folders: Path) -> None:
    """A search with nothing to load imports no library but click, and neither HTTP nor what syncing needs."""
    run("search", "sudoku")
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, "search", "sudoku"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    heavy = {"pydantic", "rich", "numpy", "pluggy", "filelock", "packaging", "http.client", "urllib.request", "email"}
    assert not loaded & (
        heavy | {"importlib.metadata", "importlib_metadata", "asyncio", "gem_hub_client.sync", "gem.registry"}
    )
