"""The names of a new package: the rules for each, and the default proposals.

Every check returns its value, as the file needs it, or raises ``ArgumentError`` with one sentence.
"""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata

from gem.discovery.official import COMMANDS, NAMESPACES, WRAPPERS
from gem.errors import ArgumentError
from gem.ids import NAMESPACE_PATTERN, normalized_distribution

__all__ = [
    "check_distribution",
    "check_import_name",
    "check_line",
    "check_namespace",
    "propose_import_name",
    "propose_namespace",
]

LONGEST = 64
"""Maximum length of any name, so that the written files keep the line length of the package's own style check."""

# The grammar of PEP 508, which compares names without regard to case.
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_IMPORT_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NAMESPACE = re.compile(NAMESPACE_PATTERN)

# Installed beside every package of environments. A package of one of these names would hide it, or be hidden.
_BESIDE = {
    "gem": "gem-core",
    "click": "click",
    "importlib_metadata": "importlib-metadata",
    "numpy": "numpy",
    "pluggy": "pluggy",
    "pydantic": "pydantic",
    "pytest": "pytest",
    "rich": "rich",
    "tomli": "tomli",
}
_OFFICIAL = {
    "gem-bridges",
    "gem-core",
    "gem-eval",
    "gem-hub",
    "gem-hub-client",
    "gem-rl",
    "gem-server",
    *COMMANDS.values(),
    *WRAPPERS.values(),
    *(name for names in NAMESPACES.values() for name in names),
}


def check_distribution(name: str) -> str:
    """Return the distribution's name for ``pip install``, normalised (PEP 503).

    Raises:
        ArgumentError: if it breaks PEP 508, or belongs to GEM or to one of its dependencies.
    """
    if not _DISTRIBUTION.fullmatch(name):
        raise ArgumentError(
            f"{name!r} cannot be the name of a distribution; use letters, digits and single '-' between them, for "
            "example 'my-envs'"
        )
    _check_length("the name of a distribution", name)
    normalized = normalized_distribution(name)
    if normalized in _OFFICIAL or normalized in _BESIDE.values():
        raise ArgumentError(
            f"the distribution {normalized!r} exists already, and GEM builds on it; choose another name"
        )
    return normalized


def check_import_name(name: str) -> str:
    """Return the import name of the package.

    Raises:
        ArgumentError: if it is not a lower-case identifier, is a keyword, or would hide a needed module.
    """
    if not _IMPORT_NAME.fullmatch(name):
        raise ArgumentError(
            f"{name!r} cannot be an import name; begin with a lower-case letter and go on with those, digits and '_', "
            "for example 'my_envs'"
        )
    _check_length("an import name", name)
    if keyword.iskeyword(name):
        raise ArgumentError(f"{name!r} is a keyword of Python and cannot be imported; choose another import name")
    if name in sys.stdlib_module_names:
        raise ArgumentError(f"{name!r} is a module of Python's standard library; choose another import name")
    if name in _BESIDE:
        raise ArgumentError(f"{name!r} is the import name of {_BESIDE[name]}; choose another import name")
    if name == "tests":
        raise ArgumentError("'tests' is the folder of the package's tests; choose another import name")
    return name


def check_namespace(name: str, shared: bool = False) -> str:
    """Return the part before the colon of every id that the package offers.

    Args:
        name: the namespace.
        shared: also allow a namespace that packages of GEM itself fill.

    Raises:
        ArgumentError: if it breaks the grammar of :mod:`gem.ids`, or a package of GEM itself fills it.
    """
    if not _NAMESPACE.fullmatch(name):
        raise ArgumentError(
            f"{name!r} cannot be a namespace; begin with a letter and go on with letters, digits, '_', '-' and '.', "
            "for example 'my'"
        )
    _check_length("a namespace", name)
    if name in NAMESPACES and not shared:
        raise ArgumentError(
            f"the namespace {name!r} is filled by {' and '.join(NAMESPACES[name])}; choose one of your own, or add "
            "--share-namespace to offer further ids in it"
        )
    return name


def check_line(what: str, text: str) -> str:
    """Return ``text`` without surrounding space if it is one line of visible text.

    Args:
        what: name of the text, for the message.
        text: a name or a sentence, in any script.

    Raises:
        ArgumentError: if it is empty, too long, or holds control characters, line breaks or lone surrogates.
    """
    line = text.strip()
    if not line:
        raise ArgumentError(f"{what} must not be empty")
    if len(line) > 500:
        raise ArgumentError(f"{what} must have at most 500 characters, got {len(line)}")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in line):
        raise ArgumentError(f"{what} must be one line without control characters, got {line[:60]!r}")
    return line


def propose_import_name(distribution: str) -> str:
    """Return the usual import name of a distribution; it may still be one that ``check_import_name`` refuses."""
    return distribution.replace("-", "_")


def propose_namespace(distribution: str, import_name: str) -> str:
    """Return the distribution's name without "gem" and "envs", or the import name if that is not a namespace."""
    short = re.sub(r"^gem-(envs?-)?|-(gem-)?(envs?|environments?)$", "", distribution)
    try:
        return check_namespace(short)
    except ArgumentError:
        return import_name


def _check_length(what: str, name: str) -> None:
    if len(name) > LONGEST:
        raise ArgumentError(f"{what} has at most {LONGEST} characters here, got {len(name)}")
