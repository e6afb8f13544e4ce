"""Parse Dockerfiles that can be built without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gem_terminal.errors import TaskError

__all__ = ["HereDocument", "Instruction", "parse"]

_KNOWN = (
    "FROM",
    "RUN",
    "COPY",
    "ADD",
    "WORKDIR",
    "ENV",
    "ARG",
    "USER",
    "CMD",
    "ENTRYPOINT",
    "LABEL",
    "EXPOSE",
    "SHELL",
)
_OPTIONS = {"FROM": ("platform",), "COPY": ("chown", "chmod", "from"), "ADD": ("chown", "chmod")}
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_PLATFORMS = (f"linux/{_MACHINES.get(os.uname().machine, os.uname().machine)}", "$BUILDPLATFORM", "$TARGETPLATFORM")
_COMMENT = re.compile(r"\s*#")
_CONTINUED = re.compile(r"\\\s*$")
_HERE_DOCUMENT = re.compile(r"(?<!\S)\d*<<(-?)([\"']?)([A-Za-z_]\w*)\2(?![\w\"'])")
"""The word before a here-document, as BuildKit finds it: no here-string, and nothing inside another word."""
_RUN_SCRIPT = 'printf %s "$1" > /dev/shm/script && chmod 755 /dev/shm/script && exec /dev/shm/script'
"""In memory, which is no part of the layer."""
_VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")


@dataclass(frozen=True)
class HereDocument:
    """The lines below an instruction, up to a word (``<<EOF``)."""

    word: str
    body: str
    is_filled: bool
    """Whether ``COPY`` and ``ADD`` replace variables in it: where the word stands without quotes."""


@dataclass(frozen=True)
class Instruction:
    """An instruction: its name in capitals, and its arguments as one text."""

    name: str
    text: str
    line: str
    documents: tuple[HereDocument, ...] = ()

    def words(self) -> list[str]:
        """Return the arguments, from the JSON form or split as a shell does."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return shlex.split(self.text)

    def arguments(self) -> list[str]:
        """Return the words that are no options."""
        return [word for word in self.words() if not word.startswith("--")]

    def options(self) -> dict[str, str]:
        """Return the options, such as ``--chown=1:1``, by name."""
        found = [word[2:].partition("=") for word in self.words() if word.startswith("--")]
        return {name: value for name, _, value in found}

    def filled(self, variables: dict[str, str]) -> Instruction:
        """Return the instruction with ``$NAME`` and ``${NAME:-default}`` replaced, as Docker does outside of RUN."""

        def value(match: re.Match[str]) -> str:
            if match[0] == "\\$":
                return "$"
            return variables.get(match[1] or match[2], match[3] or "")

        documents = tuple(
            replace(each, body=_VARIABLE.sub(value, each.body)) if each.is_filled else each for each in self.documents
        )
        return Instruction(self.name, _VARIABLE.sub(value, self.text), self.line, documents)

    def command(self) -> list[str]:
        """Return the command of ``RUN``: a here-document alone is a script, others belong to the shell's command."""
        if self.text.startswith("["):
            return self.words()
        if len(self.documents) == 1 and _HERE_DOCUMENT.fullmatch(self.text):
            script = self.documents[0].body
            if script.startswith("#!"):
                return ["sh", "-c", _RUN_SCRIPT, "sh", script]
            return ["sh", "-c", script]
        return ["sh", "-c", "\n".join([self.text, *(f"{each.body}{each.word}" for each in self.documents)])]


def parse(path: Path) -> list[Instruction]:
    """Parse a Dockerfile.

    Raises:
        TaskError: if an instruction or an option needs Docker; the message quotes the line.
    """
    found = []
    for instruction in _instructions(path):
        line = instruction.line
        if instruction.name not in _KNOWN:
            raise TaskError(f"{path}: {line!r} cannot be built without Docker; use engine='docker'")
        if _needs_docker(instruction):
            raise TaskError(f"{path}: the option of {line!r} needs Docker; use engine='docker'")
        found.append(instruction)
    if not found or found[0].name not in ("FROM", "ARG"):
        raise TaskError(f"{path} does not begin with FROM")
    return found


def _instructions(path: Path) -> Iterator[Instruction]:
    """Yield the instructions, each with its continuations and its here-documents."""
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if not line.strip() or _COMMENT.match(line):
            continue
        while _CONTINUED.search(line):
            line = _CONTINUED.sub(" ", line) + next((more for more in lines if not _COMMENT.match(more)), "")
        line = line.strip()
        name, _, rest = line.partition(" ")
        words = _HERE_DOCUMENT.finditer(rest) if name.upper() in ("RUN", "COPY", "ADD") else ()
        documents = tuple(_here_document(path, lines, *word.groups()) for word in words)
        yield Instruction(name.upper(), rest.strip(), line, documents)


def _here_document(path: Path, lines: Iterator[str], dash: str, quote: str, word: str) -> HereDocument:
    """Read a here-document; ``<<-`` removes the tabs before each of its lines."""
    body: list[str] = []
    for line in lines:
        text = line.lstrip("\t") if dash else line
        if text == word:
            return HereDocument(word, "".join(f"{each}\n" for each in body), not quote)
        body.append(text)
    raise TaskError(f"{path}: the here-document <<{word} has no end: no line is {word!r} alone")


def _needs_docker(instruction: Instruction) -> bool:
    """Return whether an instruction has an option that this builder does not know."""
    known = _OPTIONS.get(instruction.name, ())
    found = re.findall(r"--(\w+)=?(\S*)", (re.match(r"(?:--\S+\s+)*", instruction.text) or [""])[0])
    return any(name not in known or (name == "platform" and value not in _PLATFORMS) for name, value in found)
