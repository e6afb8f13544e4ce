"""The configuration of a repository that an agent leaves behind, reduced to what executes nothing: :func:`clean`.

The syntax is that of git-config(1), "Configuration file".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["clean"]

_WORD, _TEXT = r"[\w.+-]{0,100}", r"[^\0-\x1f]{0,1000}"
_ADDRESS = r"(?!-)(?!.*(?:::|/-|@-))[\w./:@~+%=-]{1,1000}"
_REFERENCES = r"\+?[\w./*:^-]{1,1000}"
_ALLOWED = {
    r"core\.(?:repositoryformatversion|bare|filemode|logallrefupdates|ignorecase|symlinks|precomposeunicode|sharedrepository"
    r"|autocrlf|eol|safecrlf|quotepath|abbrev|compression)": _WORD,
    r"extensions\.(?:objectformat|refstorage|compatobjectformat)": _WORD,
    r"(?:user|author|committer)\.(?:name|email)": _TEXT,
    r"branch\.[^\n]+\.(?:remote|pushremote|merge|rebase)": _REFERENCES,
    r"remote\.[^\n]+\.(?:url|pushurl)": _ADDRESS,
    r"remote\.[^\n]+\.(?:fetch|push|tagopt|prune|mirror)": _REFERENCES,
    r"submodule\.[^\n]+\.url": _ADDRESS,
    r"submodule\.[^\n]+\.active": _WORD,
    r"init\.defaultbranch|push\.default|push\.autosetupremote|pull\.rebase|pull\.ff|merge\.ff|merge\.conflictstyle"
    r"|rebase\.autostash|receive\.deny\w+|gc\.auto|fetch\.prune|commit\.gpgsign": _WORD,
}
"""Patterns of keys, in git's canonical form → pattern of the values."""
_RULES = [(re.compile(keys), re.compile(values)) for keys, values in _ALLOWED.items()]
_HEADING = re.compile(r'\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\\n]|\\.)*)"\s*)?\]')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=[ \t]*(.*))?")
_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|\\(.)|[#;].*|([^"\\#;]+)')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_LONGEST = 1 << 20
"""Bytes; a longer configuration is dropped."""


class _Setting(NamedTuple):
    section: str
    subsection: str | None
    name: str
    value: str | None
    """None for a name alone, which means true."""

    @property
    def is_allowed(self) -> bool:
        inner = "" if self.subsection is None else f".{self.subsection}"
        key = f"{self.section}{inner}.{self.name}"
        return any(
            keys.fullmatch(key) and values.fullmatch("true" if self.value is None else self.value)
            for keys, values in _RULES
        )

    @property
    def heading(self) -> str:
        if self.subsection is None:
            return f"[{self.section}]\n"
        escaped = self.subsection.replace("\\", "\\\\").replace('"', '\\"')
        return f'[{self.section} "{escaped}"]\n'

    @property
    def line(self) -> str:
        if self.value is None:
            return f"\t{self.name}\n"
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'\t{self.name} = "{escaped}"\n'


def clean(configuration: bytes) -> bytes:
    """Return a configuration with the settings that are known to execute nothing, written anew."""
    if len(configuration) > _LONGEST:
        return b""
    lines, heading = list[str](), ""
    for setting in _settings(configuration.decode("utf-8", "surrogateescape")):
        if setting.is_allowed:
            if setting.heading != heading:
                heading = setting.heading
                lines.append(heading)
            lines.append(setting.line)
    return "".join(lines).encode("utf-8", "surrogateescape")


def _settings(text: str) -> Iterator[_Setting]:
    section, subsection = "", None
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\\\n", "").split("\n")
    for line in lines:
        rest = line
        if found := _HEADING.match(line):
            section, subsection, rest = found[1].lower(), found[2], line[found.end() :]
            if subsection is not None:
                subsection = re.sub(r"\\(.)", r"\1", subsection)
            elif "." in section:  # the old form of a subsection
                section, _, subsection = section.partition(".")
        if section and (setting := _SETTING.match(rest)):
            value = setting[2]
            yield _Setting(section, subsection, setting[1].lower(), None if value is None else _value(value))


def _value(written: str) -> str:
    """Return the meaning of a written value: without quotes, escapes, comments and blanks around it."""
    pieces = []
    for quoted, escaped, plain in _PIECE.findall(written):
        if quoted:
            pieces.append(re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted))
        else:
            pieces.append(_ESCAPES.get(escaped, escaped) or plain)
    return "".join(pieces).strip()
