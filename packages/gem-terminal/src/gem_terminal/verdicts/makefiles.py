"""What an image's makefiles make: :func:`targets_of`.

Make takes a target without prerequisites for made as soon as something of its name is there, so that an empty folder
``check`` would pass ``make check``. Targets that ``.PHONY`` names are made in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

__all__ = ["FIND_RULES", "targets_of"]

FIND_RULES = r"""
find "$@" -xdev -maxdepth 6 -type f \( -name Makefile -o -name makefile -o -name GNUmakefile -o -name 'Makefile.*' \
  -o -name '*.mk' -o -name '*.mak' -o -name '*.make' \) -exec sh -c '
  for file; do
    echo "$file"
    sed -e ":a" -e "/\\\\\$/{N;s/\\\\\n/ /;ba" -e "}" -e "/^[#[:blank:]]/d" -e "/[:=]/!d" -e "s/^/|/" "$file"
  done' sh {} + 2>/dev/null"""
"""Commands of a shell that print the makefiles in folders, and behind each its rules and variables after bars."""
_MAIN = ("Makefile", "makefile", "GNUmakefile")
_MOST_FOLDERS = 100
"""Folders of makefiles in which the targets of an included one count."""
_MOST_WORDS = 1000
_RULE = re.compile(r"([^:=#]+?)\s*::?(?!=)\s*([^;#]*)")
_VARIABLE = re.compile(r"(?:(?:export|override|private)\s+)*([\w.-]+)\s*[:?+]*=\s*([^#]*)")
_REFERENCE = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\}|(\w))")
_FUNCTION = re.compile(r"\$(?:\([^()]*[\s:,][^()]*\)|\{[^{}]*[\s:,][^{}]*\})")
"""A call of a function or a substitution, which stand for any words."""


def targets_of(told: str) -> Mapping[PurePosixPath, bool]:
    """Return the paths of the targets in some rules, and whether they have prerequisites.

    Variables have all the values that any makefile gives them. Patterns, and names that contain functions or unknown
    variables, are left out. The rules of a makefile that others may include count in the folders of all makefiles; a
    target is phony if the same makefile says so, or that of its folder.

    Args:
        told: the output of :data:`FIND_RULES`.
    """
    makefiles: dict[PurePosixPath, list[str]] = {}
    lines: list[str] = []
    for line in told.splitlines():
        if line.startswith("/"):
            lines = makefiles.setdefault(PurePosixPath(line), [])
        elif line.startswith("|"):
            lines.append(line[1:])
    mains = [path.parent for path in makefiles if path.name in _MAIN][:_MOST_FOLDERS]
    variables: dict[str, list[str]] = {}
    for line in (line for lines in makefiles.values() for line in lines):
        if setting := _VARIABLE.match(line):
            variables.setdefault(setting[1], []).extend(setting[2].split())
    rules = {path: _Rules(lines, variables) for path, lines in makefiles.items()}
    phony = {path.parent / name for path, each in rules.items() if path.name in _MAIN for name in each.phony}
    found: dict[PurePosixPath, bool] = {}
    for path, each in rules.items():
        for folder in [path.parent] if path.name in _MAIN else [path.parent, *mains]:
            for name, has_prerequisites in each.targets.items():
                target = folder / name
                if target not in phony and name not in each.phony:
                    found[target] = found.get(target, False) or has_prerequisites
    return found


class _Rules:
    """The rules of one makefile.

    Args:
        lines: its rules and variables.
        variables: the words of all variables.
    """

    def __init__(self, lines: Iterable[str], variables: Mapping[str, Sequence[str]]) -> None:
        self.targets: dict[str, bool] = {}
        """Names, and whether they have prerequisites."""
        self.phony: set[str] = set()
        for line in lines:
            if _VARIABLE.match(line) or (rule := _RULE.match(_FUNCTION.sub("$*", line))) is None:
                continue
            names = _words(rule[1], variables)
            if names == [".PHONY"]:
                self.phony.update(_words(rule[2], variables))
            has_prerequisites = _has_prerequisites(rule[2], variables)
            for name in names:
                if not re.search(r"[%$*?\\()]", name) and not name.startswith("."):
                    self.targets[name] = self.targets.get(name, False) or has_prerequisites


def _has_prerequisites(text: str, variables: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a rule has prerequisites whose age counts, given what stands behind its colon.

    A variable of the target is none, nor is what only comes first (behind a bar), nor a variable without a value.
    """
    ages = text.partition("|")[0]
    return _VARIABLE.match(text) is None and any(_REFERENCE.fullmatch(word) is None for word in _words(ages, variables))


def _words(text: str, variables: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the words of a text, with those of variables in place of references to them."""
    words = text.split()
    for _ in range(5):  # variables of variables
        if len(words) > _MOST_WORDS or not any(map(_REFERENCE.search, words)):
            break
        words = [meant for word in words for meant in _meanings(word, variables)]
    return words[:_MOST_WORDS]


def _meanings(word: str, variables: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a word with each value of its first variable; the word itself, if it has none that is known."""
    if (reference := _REFERENCE.search(word)) is None:
        return [word]
    values = variables.get(reference[1] or reference[2] or reference[3], ())
    return [f"{word[: reference.start()]}{value}{word[reference.end() :]}" for value in values] or [word]
