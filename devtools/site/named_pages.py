"""Writes the reference of what has a name outside Python: wrappers, modes, hooks, info keys, clauses, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import griffe

from devtools.site.public_api import PublicApi
from devtools.site.restructured import docstring, first_sentence, heading, indented, section_id, signature
from gem import core, plugins
from gem_testing import CLAUSES

__all__ = [
    "NAMED",
    "NamedEntry",
    "NamedPage",
    "clause_entries",
    "error_entries",
    "hook_entries",
    "info_entries",
    "named_pages",
]


@dataclass(frozen=True)
class NamedEntry:
    """One entry: a name and what the reference says of it."""

    name: str
    lines: list[str]
    """reStructuredText."""


@dataclass(frozen=True)
class NamedPage:
    """A page of entries of one kind."""

    page: str
    title: str
    kind: str
    """The kind in anchors, such as ``"wrapper"``."""
    introduction: str
    entries: Callable[[PublicApi], list[NamedEntry]]


def collected(hook: str) -> Callable[[PublicApi], list[NamedEntry]]:
    """Return a function that makes an entry of everything that a hook of the installed packages collects."""

    def entries(api: PublicApi) -> list[NamedEntry]:
        return [_plugin_entry(api, name, target) for name, target in sorted(plugins.names(hook).items())]

    return entries


def _plugin_entry(api: PublicApi, name: str, target: Any) -> NamedEntry:
    path = target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
    full = path.replace(":", ".")
    found = api.find(full)
    arguments = ""
    if isinstance(found, griffe.Class | griffe.Function):
        arguments = signature(found.parameters, method=isinstance(found, griffe.Class))
    text = found.docstring.value if found.docstring else None
    initializer = found.members.get("__init__") if isinstance(found, griffe.Class) else None
    further = initializer.docstring.value if initializer is not None and initializer.docstring else None
    described = [] if further is None else docstring(further)
    # As an object of Python, though not its entry, which the link leads to: so arguments become a list.
    kind = "class" if isinstance(found, griffe.Class) else "function"
    shown = [f".. py:{kind}:: {found.name}{arguments}", "   :no-index:", ""]
    return NamedEntry(name, [f":py:obj:`{full}`", "", *shown, *indented([*docstring(text), "", *described])])


def hook_entries(api: PublicApi) -> list[NamedEntry]:
    """Return an entry for each hook specification."""
    found = api.modules["gem.plugins"].module.members["Hooks"]
    return [
        NamedEntry(name, [*docstring(hook.docstring.value if hook.docstring else None), ""])
        for name, hook in found.members.items()
        if name.startswith("gem_")
    ]


def info_entries(api: PublicApi) -> list[NamedEntry]:
    """Return an entry for each row of the table of keys in the docstring of ``gem.core``."""
    rows: list[tuple[str, str]] = []
    inside = False
    for line in (core.__doc__ or "").splitlines():
        if line.startswith("====="):
            inside = not inside
        elif inside and line.startswith("``"):
            names, _, text = line.partition("  ")
            rows.append((names, text.strip()))
        elif inside:
            names, text = rows[-1]
            rows[-1] = (names, f"{text} {line.strip()}")
    return [NamedEntry(name, [text]) for names, text in rows for name in re.findall(r"``([^`]+)``", names)]


def clause_entries(api: PublicApi) -> list[NamedEntry]:
    """Return an entry for each clause of the conformance kit."""
    entries = []
    for clause in CLAUSES.values():
        needs = [f"* {need.reason}: {need.advice}" for need in clause.needs]
        lines = [clause.promise, ""]
        if needs:
            lines += ["It cannot be tested if", "", *needs, ""]
        if clause.processes:
            lines += ["It plays in other processes.", ""]
        entries.append(NamedEntry(clause.name, lines))
    return entries


def error_entries(api: PublicApi) -> list[NamedEntry]:
    """Return an entry for each public class of errors and warnings of every package, ``GemError`` first."""
    found = [(path, item) for path, item in api.objects() if isinstance(item, griffe.Class) and _is_error(api, item)]
    found.sort(key=lambda pair: (not pair[0].startswith("gem.errors."), pair[1].name != "GemError", pair[1].name))
    return [NamedEntry(item.name, list(_error_lines(path, item))) for path, item in found]


def _error_lines(path: str, item: griffe.Class) -> Iterator[str]:
    yield f":py:obj:`{path}`, a subclass of {' and '.join(f'``{base}``' for base in item.bases)}"
    yield ""
    yield first_sentence(item.docstring.value if item.docstring else None)
    yield ""


def _is_error(api: PublicApi, item: griffe.Class) -> bool:
    """Return whether a class derives from an exception, by the names of its bases."""
    for base in item.bases:
        name = str(base).rpartition(".")[2]
        if name.endswith(("Error", "Exception", "Warning")):
            return True
        path = base.canonical_path if isinstance(base, griffe.Expr) else str(base)
        try:
            parent = api.find(path)
        except LookupError:
            continue
        if isinstance(parent, griffe.Class) and _is_error(api, parent):
            return True
    return False


NAMED = (
    NamedPage(
        "reference/wrappers",
        "Wrappers by name",
        "wrapper",
        "``gem.make(id, wrappers=[NAME, gem.wrapper(NAME, argument=value)])`` applies them, from the inside out. "
        ":doc:`/wrappers` says which to choose.",
        collected("gem_wrappers"),
    ),
    NamedPage(
        "reference/modes",
        "Vectorization modes",
        "mode",
        "``gem.make_vec(ids, mode=NAME)`` chooses where the environments of a batch run. "
        ":doc:`/guides/vectorization` says which to choose.",
        collected("gem_vector_backends"),
    ),
    NamedPage(
        "reference/rewards",
        "Rewards by name",
        "reward",
        "For ``gem eval --reward NAME``, ``gem rescore``, the wrapper ``transform_reward`` and "
        "``gem_questions.rewards.make_reward``; see :doc:`/guides/rewards`.",
        collected("gem_rewards"),
    ),
    NamedPage(
        "reference/graders",
        "Graders by name",
        "grader",
        "For ``gem data check --grader NAME`` and ``gem_questions.rewards.make_grader``.",
        collected("gem_graders"),
    ),
    NamedPage(
        "reference/model-clients",
        "Model clients by scheme",
        "model client",
        "For ``gem eval --base-url SCHEME:…``; see :doc:`/guides/evaluation`.",
        collected("gem_model_clients"),
    ),
    NamedPage(
        "reference/trackers",
        "Run trackers by name",
        "tracker",
        "For ``gem eval --track NAME`` and ``gem train --track NAME``.",
        collected("gem_run_trackers"),
    ),
    NamedPage(
        "reference/hooks",
        "Hooks",
        "hook",
        "What a package can add besides environments. :doc:`/hooks` shows how a plugin implements them.",
        hook_entries,
    ),
    NamedPage(
        "reference/info",
        "Keys of info",
        "info key",
        "Every key is optional. These have a fixed meaning; an environment may add keys of its own.",
        info_entries,
    ),
    NamedPage(
        "reference/clauses",
        "Clauses of the conformance kit",
        "clause",
        "``gem check`` tests each of them; :doc:`/guides/conformance` explains the outcomes.",
        clause_entries,
    ),
    NamedPage(
        "reference/errors",
        "Errors and warnings",
        "error",
        "Every error of GEM derives from ``GemError`` and from the built-in that it refines, so a caller can catch "
        "either. A message states the fault, the value, and the remedy.",
        error_entries,
    ),
)


def named_pages(api: PublicApi) -> Iterator[tuple[str, str]]:
    """Yield each page and its text."""
    for page in NAMED:
        lines = [*heading(page.title, "="), page.introduction, ""]
        for entry in page.entries(api):
            anchor = section_id(page.kind, entry.name)
            lines += [
                f".. _{anchor}:",
                "",
                *heading(f"``{entry.name}``", "-"),
                *entry.lines,
                "",
            ]
        yield page.page, "\n".join(lines) + "\n"
