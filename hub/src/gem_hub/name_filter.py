"""A compact set of names: whether a public index has a name, without a list of them and without a network.

A Bloom filter (B. H. Bloom, 1970) with the two-hash scheme of A. Kirsch and M. Mitzenmacher (2006). It never misses a
name; one in ten thousand other names is taken for one. A hub's operator makes the file from a list of names::

    python -m gem_hub.name_filter NAMES.txt public_names.bin --date 2026-11-22

The file is one line of JSON (``format``, ``names``, ``bits``, ``hashes``, ``date``) and the bits.

A hub without such a file has ``well_known_names.bin`` in this package: the 15,000 projects of the public index that
were downloaded most (github.com/hugovk/top-pypi-packages, data of 2026-04-01), the names by which libraries are
imported that are called otherwise, such as ``yaml`` and ``cv2`` (the table ``mapping`` of github.com/bndr/pipreqs,
2026-03-01), what the packages of this project depend on, and frameworks of the field.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
from packaging.utils import canonicalize_name

from gem_hub_client.errors import HubError

__all__ = ["FILE_NAME", "NameFilter", "well_known_names"]

FILE_NAME = "public_names.bin"
"""The name of the file at a hub's top."""

_FALSE_POSITIVES = 1e-4
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class NameFilter:
    """A set of names, normalised by PEP 503."""

    names: int
    """The number of names."""
    bits: int
    hashes: int
    date: str
    """The day on which the names were collected."""
    content: bytes

    @classmethod
    def of(cls, names: Iterable[str], date: str) -> NameFilter:
        """Return a filter of names.

        Args:
            names: the names, in any spelling.
            date: the day on which they were collected, for messages.
        """
        known = {canonicalize_name(name) for name in names}
        bits = max(64, math.ceil(-len(known) * math.log(_FALSE_POSITIVES) / math.log(2) ** 2))
        hashes = max(1, round(bits / max(1, len(known)) * math.log(2))) if known else 1
        content = bytearray((bits + 7) // 8)
        for name in known:
            for place in _places(name, bits, hashes):
                content[place >> 3] |= 1 << (place & 7)
        return cls(len(known), bits, hashes, date, bytes(content))

    @classmethod
    def from_bytes(cls, file: bytes, name: str) -> NameFilter:
        """Return the filter in the content of a file.

        Args:
            file: the content.
            name: the file's name, for messages.

        Raises:
            HubError: if it cannot be read; a damaged filter would let every name pass.
        """
        try:
            if len(file) > _MOST_BYTES:
                raise ValueError("it is too large")
            head, _, content = file.partition(b"\n")
            told: Any = json.loads(head)
            numbers = [told[key] for key in ("names", "bits", "hashes")]
            if told["format"] != 1 or any(type(number) is not int or number < 0 for number in numbers):
                raise ValueError("it is not in format 1")
            if (told["bits"] + 7) // 8 != len(content) or not 0 < told["hashes"] <= 64 or not told["bits"]:
                raise ValueError("it was cut off")
            if hashlib.sha256(content).hexdigest() != told["sha256"]:
                raise ValueError("its content has another digest than its first line says")
            return cls(told["names"], told["bits"], told["hashes"], str(told["date"]), content)
        except (ValueError, KeyError, TypeError) as error:
            raise HubError(f"{name}: is no filter of names ({error}); make it anew") from error

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        head = {
            "format": 1,
            "names": self.names,
            "bits": self.bits,
            "hashes": self.hashes,
            "date": self.date,
            "sha256": hashlib.sha256(self.content).hexdigest(),
        }
        return json.dumps(head, sort_keys=True).encode() + b"\n" + self.content

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not self.names:
            return False
        places = _places(canonicalize_name(name), self.bits, self.hashes)
        return all(self.content[place >> 3] >> (place & 7) & 1 for place in places)


@lru_cache(maxsize=1)
def well_known_names() -> NameFilter:
    """Return the names that everybody knows, of projects and of what is imported; see above."""
    path = Path(__file__).with_name("well_known_names.bin")
    return NameFilter.from_bytes(path.read_bytes(), str(path))


def _places(name: str, bits: int, hashes: int) -> Iterable[int]:
    digest = hashlib.sha256(name.encode()).digest()
    first, second = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little") | 1
    return ((first + number * second) % bits for number in range(hashes))


@click.command()
@click.argument("names", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--date", required=True, help="The day on which the names were collected, as 2026-01-31.")
def command(names: Path, target: Path, date: str) -> None:
    """Make the filter of a list of names, one a line."""
    lines = [line.strip() for line in names.read_text(encoding="utf-8").splitlines()]
    made = NameFilter.of(filter(None, lines), date)
    target.write_bytes(made.to_bytes())
    click.echo(f"{target}: {made.names:,} names, {len(made.content):,} bytes")


if __name__ == "__main__":
    command()
