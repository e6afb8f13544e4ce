"""Parse Dockerfiles that can be built without Docker."""

from __future__ import annotations

import json
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
        if re.match(r"--(?!chown=|chmod=)", instruction.text) or ("<<" in instruction.text and name.upper() != "RUN"):
            raise TaskError(f"{path}: the option of {line!r} needs Docker; use engine='docker'")
        found.append(instruction)
    if not found or found[0].name not in ("FROM", "ARG"):
        raise TaskError(f"{path} does not begin with FROM")
    if sum(instruction.name == "FROM" for instruction in found) > 1:
        raise TaskError(f"{path} has several stages, which need Docker; use engine='docker'")
    return found
