"""Wheels for the tests of the gate: a sound one, and whatever can be wrong with one, down to its headers' bytes."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

HEADERS = (
    "Metadata-Version: 2.4",
    "Name: toy-envs",
    "Version: 0.1.0",
    "Summary: Toys.",
    "License-Expression: MIT",
    "Requires-Python: >=3.10",
    "Requires-Dist: gem-core<0.2,>=0.1",
    "Description-Content-Type: text/markdown",
)
MANIFEST = """schema = 1
[[environment]]
id = "toy:Thing-v0"
entry_point = "toy_envs.thing:Thing"
description = "A thing to find."
[environment.variants]
easy = { size = 2 }
"""
THING = "import gem\n\n\nclass Thing(gem.Env):\n    pass\n"
INFO = "toy_envs-0.1.0.dist-info"


@dataclass(frozen=True)
class Member:
    """One file of a zip archive; what is None is what it should be."""

    name: str
    content: bytes
    method: int = 8
    flags: int = 0
    mode: int = 0o100644
    raw_name: bytes | None = None
    local_name: bytes | None = None
    packed: bytes | None = None
    size: int | None = None
    crc: int | None = None
    extra: bytes = b""
    before: bytes = b""
    """Bytes in front of its header."""
    after: bytes = b""
    """Bytes behind its content."""
    needed: int = 20


def zip_of(members: list[Member], *, prefix: bytes = b"", comment: bytes = b"", suffix: bytes = b"") -> bytes:
    """Return an archive with just these members, each as it says."""
    body, directory = prefix, b""
    for member in members:
        body += member.before
        packed = member.packed
        if packed is None:
            deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = deflate.compress(member.content) + deflate.flush() if member.method == 8 else member.content
        size = len(member.content) if member.size is None else member.size
        crc = zlib.crc32(member.content) if member.crc is None else member.crc
        name = member.name.encode() if member.raw_name is None else member.raw_name
        local_name = name if member.local_name is None else member.local_name
        common = (member.needed, member.flags, member.method, 0, 33, crc, len(packed), size)
        offset = len(body)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", *common, len(local_name), len(member.extra))
        body += local_name + member.extra + packed + member.after
        directory += struct.pack(
            "<4s6H3L5H2L",
            b"PK\1\2",
            3 << 8 | 20,
            *common,
            len(name),
            len(member.extra),
            0,
            0,
            0,
            member.mode << 16,
            offset,
        )
        directory += name + member.extra
    end = (0, 0, len(members), len(members), len(directory), len(body), len(comment))
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", *end) + comment + suffix


@dataclass(frozen=True)
class Wheel:
    """A wheel in the making; every method returns another one."""

    headers: tuple[str, ...] = HEADERS
    files: Mapping[str, str | bytes] = field(
        default_factory=lambda: {
            "toy_envs/__init__.py": "",
            "toy_envs/thing.py": THING,
            "toy_envs/environments.toml": MANIFEST,
        }
    )
    entry_points: str = "[gem.envs]\ntoy = toy_envs\n"
    info: str = INFO
    filename: str = "toy_envs-0.1.0-py3-none-any.whl"
    wheel_file: str = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    readme: str = "A readme."
    record: Callable[[str], str] = lambda text: text
    """What happens to RECORD in the end."""
    members: Callable[[list[Member]], list[Member]] = lambda members: members
    """What happens to the members in the end."""
    archive: Mapping[str, bytes] = field(default_factory=dict)
    """What ``zip_of`` is told besides."""

    def with_files(self, files: Mapping[str, str | bytes]) -> Wheel:
        """Add files, or replace some."""
        return replace(self, files={**self.files, **files})

    def without(self, *paths: str) -> Wheel:
        """Leave files out."""
        return replace(self, files={path: text for path, text in self.files.items() if path not in paths})

    def with_header(self, line: str) -> Wheel:
        """Add a header of METADATA, in the place of those with its name."""
        name = line.partition(":")[0]
        return replace(self, headers=(*(one for one in self.headers if one.partition(":")[0] != name), line))

    def without_header(self, name: str) -> Wheel:
        """Leave a header of METADATA out."""
        return replace(self, headers=tuple(one for one in self.headers if one.partition(":")[0] != name))

    def named(self, name: str, package: str | None = None, version: str = "0.1.0") -> Wheel:
        """Give it another name, with everything that follows from that."""
        package = package or name.replace("-", "_")
        stem = f"{name.replace('-', '_')}-{version}"
        files = {
            path.replace("toy_envs", package): text.replace("toy_envs", package) if isinstance(text, str) else text
            for path, text in self.files.items()
        }
        renamed = replace(
            self,
            files=files,
            entry_points=self.entry_points.replace("toy_envs", package),
            info=f"{stem}.dist-info",
            filename=f"{stem}-py3-none-any.whl",
        )
        return renamed.with_header(f"Name: {name}").with_header(f"Version: {version}")

    def build(self) -> tuple[str, bytes]:
        """Return its file name and its bytes."""
        texts: dict[str, str | bytes] = {
            **self.files,
            f"{self.info}/METADATA": "\n".join(self.headers) + f"\n\n{self.readme}\n",
            f"{self.info}/WHEEL": self.wheel_file,
            f"{self.info}/entry_points.txt": self.entry_points,
        }
        contents = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
        lines = [f"{_quoted(path)},{digest(content)},{len(content)}" for path, content in contents.items()]
        record = self.record("\n".join([*lines, f"{self.info}/RECORD,,", ""]))
        contents[f"{self.info}/RECORD"] = record.encode()
        members = [Member(path, content, flags=0 if path.isascii() else 0x0800) for path, content in contents.items()]
        return self.filename, zip_of(self.members(members), **self.archive)  # type: ignore[arg-type]

    def write(self, folder: Path) -> Path:
        """Write it into a folder; return its path."""
        filename, content = self.build()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / filename
        path.write_bytes(content)
        return path


def digest(content: bytes) -> str:
    """Return a digest as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _quoted(path: str) -> str:
    return f'"{path}"' if set(path) & set(',"') else path
