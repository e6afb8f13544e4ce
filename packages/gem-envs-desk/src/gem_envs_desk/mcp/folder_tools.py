"""The typed tools of a folder, with the names of the common MCP servers for files."""

# ruff: noqa: D417  # the episode fills the workspace, and the agent reads of the other arguments

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from gem.errors import GemError
from gem.tools import FromEpisode
from gem.tools.function import FunctionTool

__all__ = ["FOLDER_WRITING_TOOLS", "folder_tools"]

FOLDER_WRITING_TOOLS = frozenset(("write_file", "edit_file", "create_directory", "move_file", "delete_file"))


def list_directory(workspace: Annotated[Any, FromEpisode()], path: str = ".") -> str:
    """List the entries of a folder.

    Args:
        path: relative to the folder of the task.
    """
    return "\n".join(workspace.list_directory(path)) or "The folder is empty."


def directory_tree(workspace: Annotated[Any, FromEpisode()]) -> str:
    """List the paths of all files and folders."""
    return "\n".join(workspace.tree()) or "The folder is empty."


def search_files(pattern: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """List the paths whose name or whole path fits a pattern.

    Args:
        pattern: with * and ?, such as *.txt.
    """
    return "\n".join(workspace.search(pattern)) or "There is none."


def read_text_file(path: str, workspace: Annotated[Any, FromEpisode()], first_line: int = 1, lines: int = 1000) -> str:
    """Show the text of a file, or some lines of it.

    Args:
        path: relative to the folder of the task.
        first_line: the first line to show, from 1.
        lines: how many lines.
    """
    text: str = workspace.read(path)
    start = max(0, first_line - 1)
    shown = "".join(text.splitlines(keepends=True)[start : start + max(0, lines)])
    return shown or "(no text)"


def get_file_info(path: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Show kind, size and time of a file.

    Args:
        path: relative to the folder of the task.
    """
    return str(workspace.info(path))


def write_file(path: str, content: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Write a text file; its folder must exist, and what was in the file is gone.

    Args:
        path: relative to the folder of the task.
        content: the whole text.
    """
    workspace.write(path, content)
    return f"Wrote {path}."


def edit_file(path: str, old: str, new: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Replace a text that occurs once in a file.

    Args:
        path: relative to the folder of the task.
        old: the text to replace.
        new: the text in its place.
    """
    text: str = workspace.read(path)
    count = text.count(old) if old else 0
    if count != 1:
        raise GemError(f"the text to replace occurs {count} times in {path}, not once")
    workspace.write(path, text.replace(old, new))
    return f"Edited {path}."


def create_directory(path: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Make a folder, in a folder that exists.

    Args:
        path: relative to the folder of the task.
    """
    workspace.make_directory(path)
    return f"Made {path}."


def move_file(source: str, destination: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Move or rename a file or folder; nothing may be at the destination.

    Args:
        source: what to move.
        destination: its new path, with the name.
    """
    workspace.move(source, destination)
    return f"Moved {source} to {destination}."


def delete_file(path: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Delete a file or an empty folder.

    Args:
        path: relative to the folder of the task.
    """
    workspace.delete(path)
    return f"Deleted {path}."


@cache
def folder_tools() -> tuple[FunctionTool, ...]:
    """Return the tools; their model of arguments is made once."""
    functions = (
        list_directory, directory_tree, search_files, read_text_file, get_file_info, write_file, edit_file,
        create_directory, move_file, delete_file,
    )  # fmt: skip
    return tuple(FunctionTool(function) for function in functions)
