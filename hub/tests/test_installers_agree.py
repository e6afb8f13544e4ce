"""Whether importlib.metadata, pip and uv read the wheels that pass the gate as the gate reads them."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from wheel_builder import Wheel

from gem_hub.gate import examine
from gem_hub.plain_lines import AmbiguousTextError, sections
from gem_hub.wheel import Wheel as ReadWheel

pip_metadata = pytest.importorskip("pip._internal.metadata", reason="NOT TESTED: this Python has no pip")
pip_wheel = pytest.importorskip("pip._internal.utils.wheel")

SOUND = replace(Wheel(), files={**Wheel().files, "toy_envs/cli.py": "def main():\n    pass\n"})
ENTRIES = "[gem.envs]\ntoy = toy_envs\n[console_scripts]\ntoy-envs = toy_envs.cli:main\n"
METADATA = "\n".join((*SOUND.headers, "Provides-Extra: more", "Keywords: a,b", "", "A readme.", ""))
PIECES = [
    "\r", "\r\n", "\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\t", "\n\n", "\n ", " ",
    "", "\x00", "\ufeff", "\u200b", "#", ";", " ; ", " # ", "=", ":", " = ", "[", "]", "[console_scripts]",
    "[pytest11]", "[gem.envs]", "[extra]", "pip = toy_envs.cli:main", "pip: toy_envs.cli:main", "toy-envs",
    "toy_envs.cli:main",
    "%", "%(x)s", "\\", '"', "'", ",", "[more]", "Name: pip", "Requires-Dist: evil", "Provides-Extra: evil",
    "Version: 9", "Requires-Python: <3", "Root-Is-Purelib: false", "Tag: py3-none-any",
    "toy_envs/evil.pth,,", "ü", "\u0131", "a" * 80,
]  # fmt: skip
pieces = st.one_of(st.sampled_from(PIECES), st.text(max_size=3), st.characters())
edits = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 3), st.lists(pieces, min_size=1, max_size=4)), max_size=3
)


def edited(text: str, changes: list[tuple[int, int, list[str]]]) -> str:
    """Return a text with pieces in the place of some characters, mostly at the ends of lines."""
    for place, length, inserted in changes:
        ends = [number for number, character in enumerate(text) if character == "\n"] or [0]
        start = ends[place % len(ends)] + (place % 2) if place < 200 else place % (len(text) + 1)
        text = text[:start] + "".join(inserted) + text[start + length :]
    return text.encode("utf-8", "replace").decode()


def changed(kind: str, changes: list[tuple[int, int, list[str]]]) -> Wheel:
    """Return the sound wheel with one changed text."""
    if kind == "entry points":
        return replace(SOUND, entry_points=edited(ENTRIES, changes))
    if kind == "METADATA":
        head, _, readme = edited(METADATA, changes).partition("\n\n")
        return replace(SOUND, entry_points=ENTRIES, headers=tuple(head.split("\n")), readme=readme.removesuffix("\n"))
    if kind == "WHEEL":
        return replace(SOUND, entry_points=ENTRIES, wheel_file=edited(SOUND.wheel_file, changes))
    return replace(SOUND, entry_points=ENTRIES, record=lambda text: edited(text, changes))


def disagreements(wheel: Wheel) -> list[str]:
    """Return what pip reads differently in a wheel that passes the gate; empty for one that does not."""
    filename, content = wheel.build()
    verdict = examine(filename, content, "someone")
    if not verdict.passed:
        return []
    read = verdict.wheel
    assert read is not None
    return [what for what, same in compared(read, filename, content).items() if not same]


def compared(read: ReadWheel, filename: str, content: bytes) -> dict[str, bool]:
    ours = sorted((group, name, value) for group, all_of in read.entry_points.items() for name, value in all_of.items())
    pip = pip_metadata.get_wheel_distribution(pip_metadata.MemoryWheel(filename, io.BytesIO(content)), read.name)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _, wheel_headers = pip_wheel.parse_wheel(archive, read.name)
        record = archive.read(f"{read.info}/RECORD").decode()
    rows = {row[0]: row[1:] for row in csv.reader(record.splitlines())}  # the way of pip
    return {
        "entry points": ours == sorted((point.group, point.name, point.value) for point in pip.iter_entry_points()),
        "name": pip.canonical_name == read.name,
        "version": str(pip.version) == read.version,
        "requirements": set(map(str, read.requirements))
        == {str(Requirement(str(r))) for r in pip.iter_dependencies(["more"])},
        "Requires-Python": str(pip.requires_python)
        == str(pip.requires_python.__class__(read.fields["requires_python"])),
        "extras": sorted(pip.iter_provided_extras())
        == sorted(canonicalize_name(extra) for extra in read.fields.get("provides_extra", [])),
        "purelib": wheel_headers["Root-Is-Purelib"].strip().lower() == "true" and not pip.requested,
        "RECORD": rows.keys() == read.archive.entries.keys(),
    }


KINDS = st.sampled_from(["entry points", "METADATA", "WHEEL", "RECORD"])


@given(kind=KINDS, changes=edits)
def test_pip_reads_what_the_gate_has_read(kind: str, changes: list[tuple[int, int, list[str]]]) -> None:
    """In a wheel that passes, pip finds the same commands, plugins, name, version, requirements and files."""
    assert disagreements(changed(kind, changes)) == []


@pytest.mark.nightly
@settings(max_examples=50_000, suppress_health_check=list(HealthCheck))
@given(kind=KINDS, changes=edits)
def test_pip_reads_what_the_gate_has_read_in_many_cases(kind: str, changes: list[tuple[int, int, list[str]]]) -> None:
    """The same for 50,000 cases."""
    assert disagreements(changed(kind, changes)) == []


def test_the_sound_wheel_and_many_like_it_are_compared() -> None:
    """The comparison is not about refused wheels alone."""
    for kind in ("entry points", "METADATA", "WHEEL", "RECORD"):
        assert examine(*changed(kind, []).build(), "someone").passed


@pytest.mark.parametrize("end", [" # note", " ; note", "\t", "#", ";x"])
def test_comments_and_tabs_are_no_part_of_an_entry(end: str) -> None:
    """Installers differ in whether a value ends there, so the gate takes no such line."""
    with pytest.raises(AmbiguousTextError, match="has a comment or a tab in line 4"):
        sections(ENTRIES.rstrip("\n").encode() + end.encode())


def uv_scripts(texts: list[str], folder: Path) -> list[set[str]]:
    """Return the commands that uv installs for each ``entry_points.txt``, from one run for all."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("NOT TESTED: there is no uv")
    wheels = []
    for number, text in enumerate(texts):
        wheel = SOUND.named(f"toy-{number}").with_files({f"toy_{number}/cli.py": "def main():\n    pass\n"})
        wheels.append(replace(wheel, entry_points=text).write(folder / "wheels"))
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder / "venv")], check=True)
    before = {path.name for path in (folder / "venv/bin").iterdir()}
    options = ["--python", str(folder / "venv"), "--no-deps", "--offline", "-q"]
    subprocess.run([uv, "pip", "install", *options, *map(str, wheels)], check=True)
    installed = {path.name: path.read_text() for path in (folder / "venv/bin").iterdir() if path.name not in before}
    return [
        {
            name
            for name, script in installed.items()
            if f"from toy_{number}." in script or f"import toy_{number}." in script
        }
        for number in range(len(texts))
    ]


def passing_texts(number: int, seed: int) -> list[str]:
    """Return different changed entry points that the gate's reading takes, each with commands of names of its own."""
    import random

    choose = random.Random(seed)
    found: dict[str, None] = {}
    for _ in range(200 * number):
        changes = [
            (choose.randrange(400), choose.randrange(4), choose.choices(PIECES, k=choose.randint(1, 3)))
            for _ in range(choose.randint(0, 3))
        ]
        text = edited(ENTRIES, changes)
        try:
            sections(text.encode())
        except AmbiguousTextError:
            continue
        found[text] = None
        if len(found) == number:
            break
    return list(found)


@pytest.mark.slow(reason="uv installs wheels")
@pytest.mark.parametrize("number", [30, pytest.param(1000, marks=pytest.mark.nightly)])
def test_uv_installs_the_commands_that_the_gate_has_read(number: int, tmp_path: Path) -> None:
    """For entry points that the gate can read, uv writes just the commands that the gate has seen, and no other."""
    texts, expected = [], []
    for text in passing_texts(number, seed=7):
        place = len(texts)
        renamed = (
            text.replace("toy_envs", f"toy_{place}").replace("toy-envs", f"toy-{place}").replace("pip", f"pip{place}")
        )
        try:
            groups = sections(renamed.encode())
        except AmbiguousTextError:
            continue
        scripts = {**groups.get("console_scripts", {}), **groups.get("gui_scripts", {})}
        form = re.compile(rf"toy[-_]{place}([-_][a-z0-9_-]+)?")
        sound = all(form.fullmatch(name) and value == f"toy_{place}.cli:main" for name, value in scripts.items())
        if sound:  # the gate refuses others
            texts.append(renamed)
            expected.append(set(scripts))
    assert len(texts) >= min(number, 100) // 2
    assert uv_scripts(texts, tmp_path) == expected
