"""Every hostile wheel that we know of is refused, with its own reason, before any of its code could run."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from wheel_builder import INFO, MANIFEST, Member, Wheel, zip_of

from gem_hub.archive import ArchiveLimits
from gem_hub.gate import HubView, examine
from gem_hub.policy import HubPolicy
from gem_hub.refusal import MOST

SOUND = Wheel()
HUB = HubView(
    packages=frozenset({"gem-envs-games", "rival-envs"}),
    ids={"game:Sudoku-v0": "gem-envs-games", "rival:Prize-v1": "rival-envs"},
    official_owners=frozenset({"the-project"}),
)
LIMITS = ArchiveLimits(file_bytes=2 * 2**20, content_bytes=8 * 2**20, entries=40)


def bomb(size: int) -> bytes:
    return b"\0" * size


def extra_member(member: Member, at: int | None = None) -> Wheel:
    """Add a member to the archive that RECORD does not know."""

    def insert(members: list[Member]) -> list[Member]:
        place = len(members) if at is None else at
        return [*members[:place], member, *members[place:]]

    return replace(SOUND, members=insert)


def changed_member(path: str, **changes: object) -> Wheel:
    """Change how one member is written."""

    def change(members: list[Member]) -> list[Member]:
        return [replace(one, **changes) if one.name == path else one for one in members]  # type: ignore[arg-type]

    return replace(SOUND, members=change)


def recorded(change: Callable[[str], str]) -> Wheel:
    return replace(SOUND, record=change)


def line_of(path: str, change: Callable[[str, str, str], str]) -> Wheel:
    """Change one line of RECORD."""

    def lines(text: str) -> str:
        return "".join(
            f"{change(*line.rsplit(',', 2)) if line.startswith(f'{path},') else line}\n" for line in text.splitlines()
        )

    return recorded(lines)


def scripts(text: str) -> Wheel:
    return replace(SOUND, entry_points=f"{SOUND.entry_points}{text}\n").with_files(
        {"toy_envs/cli.py": "def main(): ..."}
    )


def manifest(old: str, new: str) -> Wheel:
    assert old in MANIFEST
    return SOUND.with_files({"toy_envs/environments.toml": MANIFEST.replace(old, new)})


def resolver(prefix: str, entry_point: str = "toy_envs.thing:resolve", description: str = "Far things.") -> Wheel:
    """Add a resolver to the manifest, and announce its prefix and one named ``far:``."""
    table = f'[[resolver]]\nprefix = "{prefix}"\nentry_point = "{entry_point}"\ndescription = "{description}"\n'
    announced = replace(SOUND, entry_points=f"{SOUND.entry_points}far = toy_envs\nhttps = toy_envs\n")
    return announced.with_files({"toy_envs/environments.toml": f"{MANIFEST}\n{table}"})


def added(path: str, content: str | bytes = "") -> Wheel:
    """Add a file that RECORD lists, so that nothing else is wrong."""
    return SOUND.with_files({path: content})


UNICODE_PATH = struct.pack("<HHBL", 0x7075, 5 + 7, 1, 0) + b"evil.py"
PROSE = " ".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(17_000))
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"

HOSTILE: dict[str, tuple[Wheel | tuple[str, bytes], str]] = {
    "path traversal": (added("../../evil.py"), "zip.path"),
    "path traversal inside": (added("toy_envs/../../evil.py"), "zip.path"),
    "absolute path": (added("/etc/evil.py"), "zip.path"),
    "windows path": (added("..\\..\\evil.py"), "zip.path"),
    "windows drive": (added("C:evil.py"), "zip.path"),
    "windows device": (added("toy_envs/aux.py"), "zip.path"),
    "alternate data stream": (added("toy_envs/thing.py:evil"), "zip.path"),
    "control characters in a path": (added("toy_envs/\x1b[2Jevil.py"), "zip.path"),
    "a path that reads backwards": (added("toy_envs/\u202eyp.live"), "zip.path"),
    "a file below a file": (added("toy_envs/thing.py/evil.py"), "zip.path"),
    "a start-up file": (added("evil.pth", "import toy_envs"), "content.start-up"),
    "a start-up file of the new kind": (added("evil.start", "toy_envs:main"), "content.start-up"),
    "sitecustomize": (added("sitecustomize.py"), "content.start-up"),
    "usercustomize": (added("usercustomize.py"), "content.start-up"),
    "files of gem-core": (added("gem/__init__.py"), "content.reserved"),
    "files of the standard library": (added("json/__init__.py"), "content.reserved"),
    "files of pip": (added("pip/__init__.py"), "content.reserved"),
    "files of an official package": (added("gem_envs_games/__init__.py"), "content.reserved"),
    "files of another package of the hub": (added("rival_envs/__init__.py"), "content.foreign"),
    "files of a package that it needs": (
        replace(added("httpx/__init__.py"), headers=(*SOUND.headers, "Requires-Dist: httpx>=0.27")),
        "content.foreign",
    ),
    "a second package": (added("other/__init__.py"), "content.import-name"),
    "the start of the command gem": (added("gem_command/__init__.py"), "content.reserved"),
    "a look-alike package": (added("tоy_envs/__init__.py"), "content.top-level"),
    "a module at the top": (added("evil.py"), "content.top-level"),
    "a namespace package": (added("shared/evil.py"), "content.namespace"),
    "a data folder over bin": (added("toy_envs-0.1.0.data/data/bin/pip"), "content.data"),
    "a data folder over python": (added("toy_envs-0.1.0.data/scripts/python"), "content.data"),
    "bytecode": (added("toy_envs/thing.pyc", b"\0"), "content.bytecode"),
    "hidden bytecode": (added("toy_envs/__pycache__/thing.cpython-312.pyc", b"\0"), "content.bytecode"),
    "compiled code": (added("toy_envs/_fast.so", b"\x7fELF"), "content.binary"),
    "a private key": (added("toy_envs/server.pem", KEY), "content.secret"),
    "a token": (added("toy_envs/config.py", f"TOKEN = 'ghp_{'a1' * 18}'"), "content.secret"),
    "settings of the author": (added("toy_envs/.env", "PASSWORD=1"), "content.private"),
    "a repository": (added("toy_envs/.git/config"), "content.private"),
    "a command named pip": (scripts("[console_scripts]\npip = toy_envs.cli:main"), "entry.command"),
    "a command named python3.12": (scripts("[console_scripts]\npython3.12 = toy_envs.cli:main"), "entry.command"),
    "a command named gem": (scripts("[gui_scripts]\ngem = toy_envs.cli:main"), "entry.command"),
    "a command of a foreign name": (scripts("[console_scripts]\nsl = toy_envs.cli:main"), "entry.command"),
    "a command that leads out": (scripts("[console_scripts]\n../evil = toy_envs.cli:main"), "entry.form"),
    "a command after U+2028 in a comment": (
        scripts("# note\u2028[console_scripts]\u2028pip = toy_envs.cli:main\u2028"),
        "entry.form",
    ),
    "a command after CR in a comment": (scripts("# note\r[console_scripts]\rpip = toy_envs.cli:main\r"), "entry.form"),
    "a command behind a semicolon": (scripts("[console_scripts]\n; pip = toy_envs.cli:main"), "entry.form"),
    "a command after a form feed": (
        scripts("[console_scripts]\ntoy-envs = toy_envs.cli:main\x0cpip = x:y"),
        "entry.form",
    ),
    "a command on a continued line": (
        scripts("[console_scripts]\ntoy-envs = toy_envs.cli:main\n  pip = toy_envs.cli:main"),
        "entry.form",
    ),
    "a command with a colon": (scripts("[console_scripts]\npip: x = toy_envs.cli:main"), "entry.form"),
    "a requirement after CR": (SOUND.with_header("Summary: Toys.\rRequires-Dist: evil"), "metadata.form"),
    "a requirement after U+2029": (SOUND.with_header("Summary: Toys.\u2029Requires-Dist: evil"), "metadata.form"),
    "a field after a line without a colon": (SOUND.with_header("Summary: Toys.\nno field"), "metadata.form"),
    "a second Root-Is-Purelib": (
        replace(SOUND, wheel_file=f"{SOUND.wheel_file}Root-Is-Purelib: false\n"),
        "wheel.form",
    ),
    "a RECORD with a vertical tab": (replace(SOUND, record=lambda text: f"{text}\x0b"), "record.form"),
    "an entry point into the standard library": (scripts("[gem.plugins]\nx = os:system"), "entry.outside"),
    "an entry point into another package": (scripts("other = rival_envs"), "entry.outside"),
    "an entry point with code": (scripts("[gem.plugins]\nx = toy_envs.cli:main()"), "entry.value"),
    "a plugin of pytest": (scripts("[pytest11]\nx = toy_envs.cli"), "entry.group"),
    "entry points twice": (scripts("[gem.envs]\ntoy = toy_envs.cli"), "entry.form"),
    "no environments": (replace(SOUND, entry_points="[gem.plugins]\nx = toy_envs.thing\n"), "entry.no-environments"),
    "a wrong digest": (line_of("toy_envs/thing.py", lambda p, d, s: f"{p},sha256={'A' * 43},{s}"), "record.hash"),
    "a weak digest": (
        line_of("toy_envs/thing.py", lambda p, d, s: f"{p},md5=1B2M2Y8AsgTpgAmY7PhCfg,{s}"),
        "record.hash",
    ),
    "no digest": (line_of("toy_envs/thing.py", lambda p, d, s: f"{p},,"), "record.no-hash"),
    "a wrong size": (line_of("toy_envs/thing.py", lambda p, d, s: f"{p},{d},1{s}"), "record.size"),
    "a file listed twice": (recorded(lambda text: text.splitlines()[1] + "\n" + text), "record.twice"),
    "an unlisted file": (extra_member(Member("toy_envs/evil.py", b"")), "record.unlisted"),
    "a listed file that is missing": (recorded(lambda text: f"toy_envs/gone.py,,\n{text}"), "record.missing"),
    "no RECORD": (replace(SOUND, members=lambda members: members[:-1]), "info.file"),
    "an unreadable RECORD": (recorded(lambda text: f'"{text}'), "record.form"),
    "a signed RECORD of old": (added(f"{INFO}/RECORD.jws"), "info.file"),
    "an address to install from": (added(f"{INFO}/direct_url.json", "{}"), "info.file"),
    "a duplicate entry": (extra_member(Member("toy_envs/thing.py", b"evil")), "zip.duplicate"),
    "a duplicate entry but for case": (added("toy_envs/Thing.py"), "zip.duplicate"),
    "zeros without end": (added("toy_envs/zeros.bin", bomb(4 * 2**20)), "zip.bomb"),
    "too much in all": (SOUND.with_files({f"toy_envs/{i}.bin": bomb(2**20 - 1) for i in range(9)}), "zip.bomb"),
    "more than it claims": (changed_member("toy_envs/thing.py", size=10, crc=0), "zip.content"),
    "less than it claims": (changed_member("toy_envs/thing.py", size=10**6), "zip.content"),
    "a wrong checksum": (changed_member("toy_envs/thing.py", crc=1), "zip.content"),
    "a damaged file": (changed_member("toy_envs/thing.py", packed=b"\xff" * 30), "zip.content"),
    "bytes behind a stream": (
        changed_member("toy_envs/environments.toml", packed=b"\3\0evil", size=0, crc=0),
        "zip.content",
    ),
    "bytes behind a long stream": (
        changed_member("toy_envs/environments.toml", packed=b"\3\0" + b"evil" * 2**15, size=0, crc=0),
        "zip.content",
    ),
    "too many files": (SOUND.with_files({f"toy_envs/{i}.txt": "" for i in range(40)}), "zip.count"),
    "a symbolic link": (changed_member("toy_envs/thing.py", mode=0o120777), "zip.link"),
    "a device": (changed_member("toy_envs/thing.py", mode=0o020666), "zip.link"),
    "a file that runs as its owner": (changed_member("toy_envs/thing.py", mode=0o104755), "zip.mode"),
    "a folder with content": (extra_member(Member("toy_envs/sub/", b"evil", mode=0o040755)), "zip.path"),
    "another name in its own header": (
        changed_member("toy_envs/thing.py", local_name=b"toy_envs/evil!.py"),
        "zip.confusion",
    ),
    "sizes behind the content": (changed_member("toy_envs/thing.py", flags=0x8), "zip.flags"),
    "an encrypted file": (changed_member("toy_envs/thing.py", flags=0x1), "zip.flags"),
    "a packing that few know": (changed_member("toy_envs/thing.py", method=12, needed=46), "zip.method"),
    "a stored file with two sizes": (changed_member("toy_envs/thing.py", method=0, size=10), "zip.sizes"),
    "a second name in a field": (changed_member("toy_envs/thing.py", extra=UNICODE_PATH), "zip.extra"),
    "a damaged extra field": (changed_member("toy_envs/thing.py", extra=b"UT\xff\xff\0"), "zip.extra"),
    "a name in no known encoding": (changed_member("toy_envs/thing.py", raw_name=b"toy_envs/th\xefng.py"), "zip.name"),
    "hidden bytes before a file": (changed_member("toy_envs/thing.py", before=b"PK\3\4evil"), "zip.layout"),
    "hidden bytes behind a file": (changed_member("toy_envs/thing.py", after=b"evil"), "zip.layout"),
    "a program before the archive": (replace(SOUND, archive={"prefix": b"#!/bin/sh\nevil\n"}), "zip.layout"),
    "a comment": (replace(SOUND, archive={"comment": b"evil"}), "zip.broken"),
    "bytes behind the archive": (replace(SOUND, archive={"suffix": b"evil"}), "zip.broken"),
    "two archives in one": ((SOUND.filename, SOUND.build()[1] + SOUND.build()[1]), "zip.layout"),
    "no archive": ((SOUND.filename, b"evil"), "zip.broken"),
    "an empty archive": ((SOUND.filename, zip_of([])), "info.folder"),
    "a huge archive": ((SOUND.filename, b"PK" * 2**21), "file.size"),
    "another .dist-info": (replace(SOUND, info="other-0.1.0.dist-info"), "info.folder"),
    "another version of .dist-info": (replace(SOUND, info="toy_envs-0.2.0.dist-info"), "info.folder"),
    "a second .dist-info": (added("gem_core-9.dist-info/METADATA", "Name: gem-core"), "info.folder"),
    "another name in METADATA": (SOUND.with_header("Name: rival-envs"), "metadata.name"),
    "another version in METADATA": (SOUND.with_header("Version: 0.2.0"), "metadata.version"),
    "two names in METADATA": (replace(SOUND, headers=(*SOUND.headers, "Name: rival-envs")), "metadata.field"),
    "a field that nobody knows": (replace(SOUND, headers=(*SOUND.headers, "Evil: yes")), "metadata.field"),
    "a field without end": (
        SOUND.with_header(f"Description-Content-Type: text/markdown;{' a=b;' * 40_000}"),
        "metadata.field",
    ),
    "a condition without end": (
        replace(SOUND, headers=(*SOUND.headers, f"Requires-Dist: a; {'(' * 5000}extra == 'x'{')' * 5000}")),
        "metadata.requires",
    ),
    "metadata of no known version": (SOUND.with_header("Metadata-Version: 9.0"), "metadata.field"),
    "no METADATA": (
        replace(SOUND, members=lambda members: [one for one in members if not one.name.endswith("/METADATA")]),
        "info.file",
    ),
    "a dependency by address": (
        replace(SOUND, headers=(*SOUND.headers, "Requires-Dist: evil @ https://evil.example/evil-1.0.tar.gz")),
        "requires.url",
    ),
    "a dependency compared as text": (
        replace(SOUND, headers=(*SOUND.headers, "Requires-Dist: httpx===0.27")),
        "requires.arbitrary",
    ),
    "no gem-core": (SOUND.without_header("Requires-Dist"), "requires.gem-core"),
    "gem-core only as an extra": (
        SOUND.with_header("Requires-Dist: gem-core<0.2,>=0.1; extra == 'x'"),
        "requires.gem-core",
    ),
    "an unbounded gem-core": (SOUND.with_header("Requires-Dist: gem-core>=0.1"), "requires.unbounded"),
    "a gem-core without lower bound": (SOUND.with_header("Requires-Dist: gem-core<0.2"), "requires.unbounded"),
    "no Python": (SOUND.without_header("Requires-Python"), "requires.python"),
    "no licence": (SOUND.without_header("License-Expression"), "licence.missing"),
    "a licence that is none": (
        SOUND.without_header("License-Expression").with_header("License: UNKNOWN"),
        "licence.missing",
    ),
    "an address that runs code": (
        replace(SOUND, headers=(*SOUND.headers, "Project-URL: Home, javascript:alert(1)")),
        "text.url",
    ),
    "a summary that reads backwards": (SOUND.with_header("Summary: good \u202edab"), "text.summary"),
    "a summary that moves the cursor": (SOUND.with_header("Summary: good \x1b[2J"), "text.summary"),
    "a version that is not canonical": (SOUND.named("toy-envs", version="0.01.0"), "version.form"),
    "a local version": (SOUND.named("toy-envs", version="0.1.0+mine"), "version.local"),
    "a source": (("toy_envs-0.1.0.tar.gz", SOUND.build()[1]), "file.kind"),
    "a file name that leads out": (("../toy_envs-0.1.0-py3-none-any.whl", SOUND.build()[1]), "file.name"),
    "a build number": (replace(SOUND, filename="toy_envs-0.1.0-1-py3-none-any.whl"), "file.build"),
    "one platform only": (replace(SOUND, filename="toy_envs-0.1.0-cp312-cp312-linux_x86_64.whl"), "file.tags"),
    "tags without end": (
        replace(
            SOUND, wheel_file=SOUND.wheel_file + f"Tag: {'.'.join(['py3'] * 3000)}-{'.'.join(['none'] * 3000)}-any\n"
        ),
        "info.file",
    ),
    "a name of tags without end": (
        replace(SOUND, filename=f"toy_envs-0.1.0-{'.'.join('pan')}-{'.'.join('b' * 99)}-{'.'.join('c' * 99)}.whl"),
        "file.name",
    ),
    "other tags inside": (
        replace(SOUND, wheel_file=SOUND.wheel_file.replace("py3-none-any", "py2-none-any")),
        "wheel.tags",
    ),
    "files for the platform's folder": (
        replace(SOUND, wheel_file=SOUND.wheel_file.replace("true", "false")),
        "wheel.purelib",
    ),
    "a wheel of the future": (replace(SOUND, wheel_file=SOUND.wheel_file.replace("1.0", "2.0")), "wheel.version"),
    "a name that is too long": (SOUND.named("t" * 65), "name.form"),
    "a name of the standard library": (SOUND.named("json", "json"), "name.reserved"),
    "a name of what GEM builds on": (SOUND.named("numpy"), "name.reserved"),
    "a namespace of GEM": (
        SOUND.with_files({"toy_envs/environments.toml": MANIFEST.replace("toy:Thing", "game:Chess")}),
        "id.namespace",
    ),
    "a library with a version": (SOUND.with_files({"toy_envs/libx.so.1": "x"}), "content.binary"),
    "a library with three": (SOUND.with_files({"toy_envs/libx.so.1.2.3": "x"}), "content.binary"),
    "a name that looks official": (SOUND.named("gem-envs-poker"), "name.reserved-prefix"),
    "a letter less": (SOUND.named("rivl-envs"), "name.similar"),
    "a letter more": (SOUND.named("rival-envss"), "name.similar"),
    "another letter": (SOUND.named("rivel-envs"), "name.similar"),
    "two letters swapped": (SOUND.named("rvial-envs"), "name.similar"),
    "a 1 for an l": (SOUND.named("riva1-envs"), "name.similar"),
    "other separators": (SOUND.named("rivalenvs"), "name.similar"),
    "an official name without separator": (SOUND.named("gemcore"), "name.similar"),
    "a requirement that is none": (
        replace(SOUND, headers=(*SOUND.headers, "Requires-Dist: httpx >=")),
        "metadata.requires",
    ),
    "a book for a readme": (replace(SOUND, readme=PROSE[:600_000]), "text.description"),
    "what was not meant to be published": (
        replace(SOUND, headers=(*SOUND.headers, "Classifier: Private :: Do Not Upload")),
        "text.private",
    ),
    "a namespace that is none": (scripts("1st = toy_envs"), "entry.namespace"),
    "a huge manifest": (manifest("schema = 1", f"# {PROSE}\nschema = 1"), "manifest.size"),
    "too many environments": (
        manifest("easy = ", "".join(f"v{number} = {{}}\n" for number in range(10_000)) + "easy = "),
        "manifest.count",
    ),
    "no manifest": (SOUND.without("toy_envs/environments.toml"), "manifest.missing"),
    "an unknown key": (manifest("description", "describtion"), "manifest.invalid"),
    "no TOML": (manifest("schema = 1", "schema ="), "manifest.invalid"),
    "TOML without end": (manifest("size = 2", f"size = {'[' * 5000}"), "manifest.invalid"),
    "a key without end": (manifest("schema = 1", f"{'.'.join('a' * 100_000)} = 1"), "manifest.size"),
    "a manifest of another schema": (manifest("schema = 1", "schema = 2"), "manifest.invalid"),
    "an id outside its namespaces": (manifest("toy:Thing-v0", "game:Thing-v0"), "manifest.namespace"),
    "an environment outside the wheel": (manifest("toy_envs.thing:Thing", "os:system"), "manifest.outside"),
    "a prefix of GEM": (resolver("https:"), "id.namespace"),
    "a prefix outside its namespaces": (resolver("near:"), "manifest.namespace"),
    "a prefix that is none": (resolver("far://"), "manifest.invalid"),
    "a resolver outside the wheel": (resolver("far:", "os:system"), "manifest.outside"),
    "a resolver that moves the cursor": (resolver("far:", description="A \\u001b[2J thing"), "manifest.text"),
    "a description that moves the cursor": (manifest("A thing", "A \\u001b[2J thing"), "manifest.text"),
    "a taken id": (
        replace(manifest("toy:Thing-v0", "rival:Prize-v1"), entry_points="[gem.envs]\nrival = toy_envs\n"),
        "id.taken",
    ),
    "a later version of a taken id": (
        replace(manifest("toy:Thing-v0", "rival:Prize-v7"), entry_points="[gem.envs]\nrival = toy_envs\n"),
        "id.taken",
    ),
    "an id that looks like a taken one": (
        replace(manifest("toy:Thing-v0", "game:Sud0ku-v0"), entry_points="[gem.envs]\ngame = toy_envs\n"),
        "id.taken",
    ),
}


def with_marker(wheel: Wheel, marker: Path) -> Wheel:
    """Let all its code, and every start-up file, make a file when it runs."""
    code = f"open({str(marker)!r}, 'w').close()\n"
    files = {
        path: code + text if isinstance(text, str) and path.endswith((".py", ".pth", ".start")) else text
        for path, text in wheel.files.items()
    }
    return replace(wheel, files=files)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_wheel_is_refused_unrun(name: str, tmp_path: Path) -> None:
    """The gate names what is wrong, in a sentence that says what to do, and no code of the wheel has run."""
    wheel, code = HOSTILE[name]
    marker = tmp_path / "ran"
    filename, content = with_marker(wheel, marker).build() if isinstance(wheel, Wheel) else wheel
    verdict = examine(filename, content, "a-stranger", HUB, limits=LIMITS)
    assert not verdict.passed
    assert code in {refusal.code for refusal in verdict.refusals}, verdict.refusals
    assert all(refusal.message for refusal in verdict.refusals)
    assert all(str(refusal).isprintable() for refusal in verdict.refusals)
    assert not marker.exists()


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", [name for name, (wheel, _) in HOSTILE.items() if isinstance(wheel, Wheel)])
def test_nothing_else_is_held_against_it(name: str) -> None:
    """Each hostile wheel is sound but for what makes it hostile, so that the refusal is for that."""
    wheel, code = HOSTILE[name]
    assert isinstance(wheel, Wheel)
    codes = {refusal.code for refusal in examine(*wheel.build(), "a-stranger", HUB, limits=LIMITS).refusals}
    assert codes <= {code, *RELATED.get(name, ())}


RELATED = {
    # What follows from the same wrong thing.
    "a second package": ["content.top-level"],
    "a name of the standard library": ["content.reserved"],
    "a name of what GEM builds on": ["content.reserved"],
    "an entry point into another package": ["manifest.missing"],
    "a wrong digest": ["record.size"],
    "no manifest": ["manifest.unused"],
    "an unknown key": ["manifest.missing"],
    "one platform only": ["wheel.tags"],
    "a stored file with two sizes": ["zip.content"],
    "entry points twice": ["entry.no-environments"],
    "a namespace of GEM": ["manifest.namespace"],
    "an id outside its namespaces": ["id.namespace"],
    "an id that looks like a taken one": ["id.namespace"],
    **{name: ["entry.no-environments"] for name in HOSTILE if name.startswith("a command")},
    "two names in METADATA": ["metadata.name", "metadata.form"],
    "a summary that reads backwards": ["metadata.form"],
    "a requirement after U+2029": ["metadata.field", "text.summary"],
    "a requirement after CR": ["metadata.field", "text.summary"],
    "a summary that moves the cursor": ["metadata.form"],
    "a field after a line without a colon": [
        "metadata.field",
        "licence.missing",
        "requires.python",
        "requires.gem-core",
    ],
    "a name in no known encoding": ["zip.path"],
    "a requirement that is none": ["metadata.field"],
    "a condition without end": ["metadata.field", "file.unreadable"],
    "a field without end": [
        "metadata.name",
        "metadata.version",
        "licence.missing",
        "requires.python",
        "requires.gem-core",
    ],
    "no METADATA": ["record.missing"],
}


def test_the_marker_tells(tmp_path: Path) -> None:
    """The code that the tests above find not to have run does leave its mark when it is imported."""
    marker = tmp_path / "ran"
    path = with_marker(SOUND, marker).write(tmp_path)
    subprocess.run([sys.executable, "-c", "import toy_envs"], env={"PYTHONPATH": str(path)}, check=True)
    assert marker.exists()


def test_a_sound_wheel_passes() -> None:
    """The wheel that all hostile ones are made from has nothing against it."""
    verdict = examine(*SOUND.build(), "a-stranger", HUB, limits=LIMITS)
    assert verdict.refusals == ()
    assert [warning.code for warning in verdict.warnings] == ["manifest.untagged"]
    assert [spec.id for spec in verdict.specs] == ["toy:Thing-v0", "toy:Thing-v0-easy"]


def test_a_wheel_with_resolvers_alone_passes() -> None:
    """Its release lists no environment, as the ids of a prefix are not known in advance."""
    wheel = resolver("far:")
    table = f"schema = 1\n[[resolver]]{wheel.files['toy_envs/environments.toml'].partition('[[resolver]]')[2]}"
    verdict = examine(
        *wheel.with_files({"toy_envs/environments.toml": table}).build(), "a-stranger", HUB, limits=LIMITS
    )
    assert verdict.refusals == ()
    assert verdict.release("a-stranger").environments == []


def test_all_reasons_come_at_once() -> None:
    """A wheel with several faults is told all of them, in each part that can be read."""
    wheel = added("evil.pth").with_header("Requires-Dist: gem-core>=0.1").without_header("License-Expression")
    wheel = wheel.with_files({"toy_envs/environments.toml": MANIFEST.replace("toy:", "other:")})
    codes = {refusal.code for refusal in examine(*wheel.build(), "a-stranger", HUB).refusals}
    assert codes == {"content.start-up", "requires.unbounded", "licence.missing", "manifest.namespace"}


def test_an_impossible_publisher_is_a_reason_too() -> None:
    """What the schema of records has against a release is told before anything is run."""
    (refusal,) = examine(*SOUND.build(), "two\nlines", HUB).refusals
    assert refusal.code == "record.impossible"
    assert "publisher" in refusal.message


def test_an_old_field_for_the_licence_is_a_warning() -> None:
    """Metadata from before PEP 639 passes, with the advice to say the licence in a way that programs read."""
    wheel = SOUND.without_header("License-Expression").with_header("License: MIT")
    verdict = examine(*wheel.build(), "a-stranger", HUB)
    assert verdict.passed
    assert [warning.code for warning in verdict.warnings] == ["licence.old", "manifest.untagged"]


@pytest.mark.parametrize("owner", ["the-project", "a-friend"])
def test_who_owns_the_official_packages_names_new_ones(owner: str) -> None:
    """The owners of official packages, and who the policy lets, may publish names that look official."""
    wheel = SOUND.named("gem-envs-poker")
    assert examine(*wheel.build(), owner, HUB, HubPolicy(prefix_owners=["a-friend"])).passed


@pytest.mark.slow
def test_a_wheel_with_a_million_faults_is_told_some() -> None:
    """The number of reasons is bounded, whatever a wheel has wrong."""
    wheel = replace(SOUND, entry_points="".join(f"[g{number}]\nx = os:y\n" for number in range(20_000)))
    assert len(examine(*wheel.build(), "a-stranger", HUB).refusals) <= MOST


def test_a_gate_that_fails_is_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the gate itself lets nothing through."""
    monkeypatch.setattr("gem_hub.gate.check_terms", lambda *_: [][0])
    (refusal,) = examine(*SOUND.build(), "a-stranger", HUB).refusals
    assert refusal.code == "file.unreadable"
    assert "IndexError" in refusal.message
