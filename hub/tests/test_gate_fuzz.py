"""Whatever bytes the gate is given, it answers; and what it lets through is what the author built."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wheel_builder import MANIFEST, Member, Wheel, zip_of

from gem_hub.archive import ArchiveLimits, read_archive
from gem_hub.gate import GateResult, examine
from gem_hub.refusal import GateFindings
from gem_hub.typosquat import lookalikes, one_edit_apart, ultranormalised

FILENAME, SOUND = Wheel().build()
LIMITS = ArchiveLimits(file_bytes=2**20, content_bytes=4 * 2**20, entries=100)
ORIGINAL = examine(FILENAME, SOUND, "someone").wheel

places = st.integers(0, len(SOUND) - 1)
edits = st.one_of(
    st.tuples(st.just("flip"), places, st.integers(1, 255)),
    st.tuples(st.just("insert"), places, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("delete"), places, st.integers(1, 200)),
    st.tuples(st.just("copy"), places, places),
    st.tuples(st.just("cut"), places, st.none()),
)


def edited(content: bytes, edit: tuple[str, int, object]) -> bytes:
    kind, place, argument = edit
    head, tail = content[:place], content[place:]
    if kind == "flip":
        return head + bytes([tail[0] ^ argument]) + tail[1:] if tail else head  # type: ignore[operator]
    if kind == "insert":
        return head + argument + tail  # type: ignore[operator]
    if kind == "delete":
        return head + tail[argument:]  # type: ignore[misc]
    if kind == "copy":
        return head + content[argument:] + tail  # type: ignore[misc]
    return head


def check_answer(verdict: GateResult) -> None:
    """Assert that the gate refused with sentences, or let through just the files of the original."""
    assert ORIGINAL is not None
    if verdict.passed:
        assert verdict.wheel is not None
        assert verdict.wheel.archive.digests == ORIGINAL.archive.digests
    assert all(refusal.code and refusal.message and str(refusal).isprintable() for refusal in verdict.refusals)


@given(st.lists(edits, min_size=1, max_size=3))
def test_a_changed_wheel_is_refused_or_holds_the_same_files(changes: list[tuple[str, int, object]]) -> None:
    """No change to its bytes changes the files of a wheel that passes, and none makes the gate fail."""
    content = SOUND
    for change in changes:
        content = edited(content, change)
    check_answer(examine(FILENAME, content, "someone", limits=LIMITS))


@pytest.mark.slow
def test_each_single_bit_is_covered() -> None:
    """Turning over any one byte of a wheel is refused, or changes nothing but times and permissions."""
    for place in range(len(SOUND)):
        check_answer(examine(FILENAME, edited(SOUND, ("flip", place, 0xFF)), "someone", limits=LIMITS))


@given(st.binary(max_size=400), st.text(max_size=60))
def test_any_bytes_under_any_name_are_answered(content: bytes, filename: str) -> None:
    """The gate refuses what is no wheel, whatever it is called."""
    assert not examine(filename, content, "someone", limits=LIMITS).passed


@given(
    st.lists(
        st.builds(
            Member,
            name=st.text(min_size=1, max_size=20),
            content=st.binary(max_size=60),
            method=st.sampled_from([0, 8]),
            flags=st.sampled_from([0, 0x800]),
            mode=st.sampled_from([0, 0o100644, 0o040755, 0o120777]),
            extra=st.sampled_from([b"", b"UT\1\0\0"]),
        ),
        max_size=6,
    )
)
def test_python_reads_the_same_files(members: list[Member]) -> None:
    """In an archive that the gate takes, the standard library finds the same names with the same content."""
    try:
        content = zip_of(members)
    except UnicodeEncodeError:
        return  # a lone surrogate has no bytes
    archive = read_archive(content, GateFindings(), LIMITS)
    if archive is None:
        return
    with zipfile.ZipFile(io.BytesIO(content)) as other:
        names = [name for name in other.namelist() if not name.endswith("/")]
        assert sorted(names) == sorted(archive.entries)
        assert {name: other.read(name) for name in names} == {name: archive.read(name) for name in names}


texts = st.one_of(
    st.text(max_size=300), st.sampled_from([MANIFEST, "[gem.envs]\ntoy = toy_envs\n", "Name: toy-envs\n", "a,b,c\n"])
)


@given(texts, texts, texts, st.one_of(st.none(), texts))
def test_any_text_in_its_files_is_answered(metadata: str, entry_points: str, manifest: str, record: str | None) -> None:
    """Headers, entry points, manifest and RECORD may say anything; the gate goes on to its answer."""
    wheel = Wheel(headers=tuple(_encodable(metadata).splitlines()), entry_points=_encodable(entry_points))
    wheel = wheel.with_files({"toy_envs/environments.toml": _encodable(manifest)})
    if record is not None:
        wheel = replace(wheel, record=lambda _: _encodable(record))
    verdict = examine(*wheel.build(), "someone", limits=LIMITS)
    assert not verdict.passed
    assert all(str(refusal).isprintable() for refusal in verdict.refusals)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def naive_distance(first: str, second: str) -> int:
    """Optimal string alignment by its definition."""
    rows = [[i + j if not i * j else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            best = [rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (first[i - 1] != second[j - 1])]
            if i > 1 and j > 1 and first[i - 1] == second[j - 2] and first[i - 2] == second[j - 1]:
                best.append(rows[i - 2][j - 2] + 1)
            rows[i][j] = min(best)
    return rows[-1][-1]


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_one_edit_is_what_the_definition_says(first: str, second: str) -> None:
    """The fast comparison of names agrees with the distance that it stands for."""
    assert one_edit_apart(first, second) == (naive_distance(first, second) <= 1)


def test_names_that_look_the_same_are_found() -> None:
    """A 1 for an l, a 0 for an o, an I for an l and other separators leave a name a look-alike; two edits do not."""
    others = ["gem-envs-logic", "rival-envs", "own"]
    assert ultranormalised("Gem_Envs.L0GIC") == ultranormalised("gem-envs-1ogic")
    assert lookalikes("gem-envs-10gic", others) == ["gem-envs-logic"]
    assert lookalikes("gemenvslogik", others) == ["gem-envs-logic"]
    assert lookalikes("gem-envs-magic", others) == []
    assert lookalikes("own", others) == []


NEAR = st.text("abl1o0-rnm", min_size=1, max_size=7)


@given(NEAR, st.lists(NEAR, max_size=30))
def test_lookalikes_are_found_as_by_comparing_with_each(name: str, others: list[str]) -> None:
    """What is filed under halves and words is what a comparison with every name finds."""

    def words(text: str) -> list[str]:
        return sorted(text.split("-"))

    expected = {
        other
        for other in others
        if one_edit_apart(ultranormalised(name), ultranormalised(other))
        or ("-" in name and words(other) == words(name))
    }
    assert lookalikes(name, others) == sorted(expected - {name})
    swaps = {name[:i] + name[i + 1] + name[i] + name[i + 2 :] for i in range(len(name) - 1)}
    near = {swap for swap in swaps if one_edit_apart(ultranormalised(name), ultranormalised(swap))} - {name}
    assert near <= set(lookalikes(name, swaps))
