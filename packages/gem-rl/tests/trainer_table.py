"""The trainers whose packages the tests run: ``trainers.toml``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["TRAINERS", "Trainer"]


@dataclass(frozen=True)
class Trainer:
    """An entry of ``trainers.toml``."""

    name: str
    file: str
    extension: str
    version: str
    ran: str
    test: str
    driver: str = ""
    requires: list[str] = field(default_factory=list)
    python: str = ""

    @property
    def row(self) -> str:
        """The entry as a row of the guide's table."""
        return f"| {self.name} | `{self.file}` | {self.extension} | {self.version} | {self.ran} |"


TRAINERS = [
    Trainer(**entry)
    for entry in tomllib.loads(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))["trainer"]
]
