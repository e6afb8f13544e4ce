"""Parse Dockerfiles that can be built without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from gem_terminal.errors import TaskError

__all__ = ["Instruction", "parse"]

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
_COMMENT = re.compile(r"^\s*#.*$\n?", re.MULTILINE)
_CONTINUED = re.compile(r"\\[^\S\n]*\n")
_VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")


@dataclass(frozen=True)
class Instruction:
    """An instruction: its name in capitals, and its arguments as one text."""

    name: str
    text: str
    line: str

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

        return Instruction(self.name, _VARIABLE.sub(value, self.text), self.line)


def parse(path: Path) -> list[Instruction]:
    """Parse a Dockerfile.

    Raises:
        TaskError: if an instruction or an option needs Docker; the message quotes the line.
    """
    text = _CONTINUED.sub(" ", _COMMENT.sub("", path.read_text(encoding="utf-8")))
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        instruction = Instruction(name.upper(), rest.strip(), line)
        if instruction.name not in _KNOWN:
            raise TaskError(f"{path}: {line!r} cannot be built without Docker; use engine='docker'")
        if _needs_docker(instruction) or ("<<" in instruction.text and name.upper() != "RUN"):
            raise TaskError(f"{path}: the option of {line!r} needs Docker; use engine='docker'")
        found.append(instruction)
    if not found or found[0].name not in ("FROM", "ARG"):
        raise TaskError(f"{path} does not begin with FROM")
    return found


def _needs_docker(instruction: Instruction) -> bool:
    """Return whether an instruction has an option that this builder does not know."""
    known = _OPTIONS.get(instruction.name, ())
    found = re.findall(r"--(\w+)=?(\S*)", (re.match(r"(?:--\S+\s+)*", instruction.text) or [""])[0])
    return any(name not in known or (name == "platform" and value not in _PLATFORMS) for name, value in found)
