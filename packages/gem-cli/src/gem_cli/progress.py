"""Progress bars on stderr, with rich: :func:`progress`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["progress"]


def progress() -> Progress:
    """Return a progress bar on stderr that is silent unless stderr is a terminal.

    Tasks may have a field ``note``, a text beside the bar, and a field ``below``, a text on lines of its own.

    A package that uses it requires ``gem-cli[progress]``, which brings rich.
    """
    from rich.console import Console, RenderableType
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class NoteColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.fields.get("note", ""))

    class TwoLineProgress(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            yield from super().get_renderables()
            for task in self.tasks:
                if below := task.fields.get("below"):
                    yield Text(below, style="dim")

    return TwoLineProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        NoteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
