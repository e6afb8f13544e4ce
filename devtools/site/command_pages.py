"""Writes the reference of the command line: a page for each command of ``gem``, with every option."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import click

from devtools.site.restructured import heading, indented, section_id

__all__ = ["FOLDER", "ShownCommand", "command_pages", "commands"]

FOLDER = "reference/commands"


@dataclass(frozen=True)
class ShownCommand:
    """A command with the words that call it."""

    words: tuple[str, ...]
    command: click.Command
    context: click.Context

    @property
    def name(self) -> str:
        """The whole command, such as ``"gem hub login"``."""
        return " ".join(self.words)


def commands(root: click.Command | None = None) -> list[ShownCommand]:
    """Return every command below ``root``, which is ``gem`` of the installed packages; groups precede subcommands."""
    if root is None:
        from gem_cli.main import cli

        root = cli
    return list(_walk(ShownCommand(("gem",), root, click.Context(root, info_name="gem"))))


def _walk(shown: ShownCommand) -> Iterator[ShownCommand]:
    yield shown
    if isinstance(shown.command, click.Group):
        for name in sorted(shown.command.list_commands(shown.context)):
            command = shown.command.get_command(shown.context, name)
            if command is not None and not command.hidden:
                context = click.Context(command, info_name=name, parent=shown.context)
                yield from _walk(ShownCommand((*shown.words, name), command, context))


def command_pages(found: list[ShownCommand]) -> Iterator[tuple[str, str]]:
    """Yield each page and its text, and at the end the index."""
    tops = [shown for shown in found if len(shown.words) == 2]
    for top in tops:
        lines: list[str] = []
        for shown in found:
            if shown.words[:2] == top.words:
                lines += _command(shown)
        yield f"{FOLDER}/{top.words[1]}", "\n".join(lines) + "\n"
    lines = [*heading("Commands", "="), *_help(found[0].command), "", ".. list-table::", "   :widths: 25 75", ""]
    for top in tops:
        lines += indented([f"* - :doc:`{top.name} </{FOLDER}/{top.words[1]}>`", f"  - {_summary(top.command)}"])
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   /{FOLDER}/{top.words[1]}" for top in tops]
    yield f"{FOLDER}/index", "\n".join(lines) + "\n"


def _command(shown: ShownCommand) -> Iterator[str]:
    yield f".. _{section_id('command', shown.name)}:"
    yield ""
    yield from heading(shown.name, "=" if len(shown.words) == 2 else "-")
    usage = shown.command.collect_usage_pieces(shown.context)
    yield "::"
    yield ""
    yield f"   {' '.join([shown.name, *usage])}"
    yield ""
    yield from _help(shown.command)
    yield ""
    options = [option for option in shown.command.get_params(shown.context) if isinstance(option, click.Option)]
    for option in options:
        if not option.hidden and option.name != "help":
            yield from _option(shown, option)


def _option(shown: ShownCommand, option: click.Option) -> Iterator[str]:
    record = option.get_help_record(shown.context)
    assert record is not None
    names, text = record
    yield f".. _{section_id('option', f'{shown.name} {option.opts[-1]}')}:"
    yield ""
    yield f"``{names}``"
    yield from indented([_escaped(text)])
    yield ""


def _help(command: click.Command) -> Iterator[str]:
    """Yield a command's help: paragraphs as text, those behind click's mark for kept lines as they are."""
    for paragraph in inspect.cleandoc(command.help or "").replace("\f", "").split("\n\n"):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n").splitlines()
            if lines and not lines[0].startswith(" ") and lines[0].endswith(":"):
                yield _escaped(lines.pop(0))
                yield ""
            yield "::"
            yield ""
            yield from indented(lines)
        else:
            yield from (_escaped(line.strip()) for line in paragraph.splitlines())
        yield ""


def _summary(command: click.Command) -> str:
    return _escaped(command.get_short_help_str(limit=200))


def _escaped(text: str) -> str:
    """Return plain text so that reStructuredText shows it unchanged."""
    return "".join(f"\\{sign}" if sign in "\\*`_|" else sign for sign in text)
