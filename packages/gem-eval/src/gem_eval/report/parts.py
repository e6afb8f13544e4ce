"""What a report consists of, before it is HTML or Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from gem_cli.output import Table
from gem_eval.figures.figure import RunFigure

__all__ = ["BulletList", "Code", "Heading", "Illustration", "Paragraph", "Report", "Tabular"]


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A text."""

    text: str


@dataclass(frozen=True)
class BulletList:
    """Sentences that stand below each other."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Commands, or the content of a file."""

    text: str


@dataclass(frozen=True)
class Tabular:
    """A table as the commands print it."""

    table: Table


@dataclass(frozen=True)
class Illustration:
    """A figure with its caption."""

    figure: RunFigure
    number: int

    @property
    def file_name(self) -> str:
        """The name of its files, without an ending; its number tells apart what plain letters do not."""
        return f"{self.number:02}-{self.figure.file_name}"


@dataclass(frozen=True)
class Report:
    """A report: its title and parts, in order, and the files that lie beside it."""

    title: str
    parts: tuple[Heading | Paragraph | BulletList | Code | Tabular | Illustration, ...]
    settings: dict[str, str]
    """File name → content: the configuration file of each run."""

    @property
    def illustrations(self) -> list[Illustration]:
        """The figures."""
        return [part for part in self.parts if isinstance(part, Illustration)]
