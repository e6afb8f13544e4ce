"""Candidates that are changes of a function or two: bugs, regressions across files, and missing functions."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.bugs import Defect, defects
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.python_source import Definition, Edit, PythonSource, is_other_program

__all__ = ["bugs", "features", "regressions", "tested_functions"]

_STATEMENTS = range(2, 41)
"""How many statements a function may have for a feature: what longer ones do, no examples tell."""


class _Place(NamedTuple):
    """A defect and where it is."""

    source: PythonSource
    definition: Definition
    defect: Defect


def tested_functions(baseline: Baseline) -> Iterator[tuple[PythonSource, Definition]]:
    """Return the functions that tests run."""
    for path in baseline.source_files:
        source = baseline.tree.source(path)
        if source is None:
            continue
        run = {line for test, lines in baseline.first.lines[path].items() if test for line in lines}
        for definition in source.definitions:
            if definition.lines & run:
                yield source, definition


def bugs(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return defects of one place (levels 1 and 2), of two in a function (3) and of two functions of a file (4)."""
    found = _shuffled(baseline, generator)
    for number, place in enumerate(found):
        level = generator.choice((1, 1, 2, 2, 2, 3, 4))
        partner = None
        if level >= 3:
            later = found[number + 1 : number + 1000]
            partner = _partner(baseline, place, [
                other for other in later if _belongs(place, other, same_function=level == 3)
            ])  # fmt: skip
        places = [place] if partner is None else [place, partner]
        made = _broken("bug", places, level if partner is not None else min(level, 2))
        if made is not None:
            yield made


def _partner(baseline: Baseline, place: _Place, others: Sequence[_Place]) -> _Place | None:
    """Return one of other defects: the first that other tests run, of which a proof can tell it from this one."""
    own = baseline.covering({place.source.path: _lines(place)})
    for other in others:
        tests = baseline.covering({other.source.path: _lines(other)})
        if own - tests and tests - own:
            return other
    return others[0] if others else None


def regressions(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return pairs of defects in two files, each of which has lines that a test of its own runs (level 5)."""
    found = _shuffled(baseline, generator)
    tests = [baseline.covering({place.source.path: _lines(place)}) for place in found]
    for number, place in enumerate(found):
        own = tests[number]
        partner = next(
            (
                other for other, others in zip(found[number + 1 :], tests[number + 1 :], strict=True)
                if other.source is not place.source and own - others and others - own
            ), None,
        )  # fmt: skip
        made = None if partner is None else _broken("regression", [place, partner], 5)
        if made is not None:
            yield made


def features(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return functions without their body: documented (level 1), without documentation (2), gone altogether (3)."""
    found = [
        (source, definition)
        for source, definition in tested_functions(baseline)
        if sum(isinstance(node, ast.stmt) for each in definition.body for node in ast.walk(each)) in _STATEMENTS
    ]
    generator.shuffle(found)
    for source, definition in found:
        level = generator.choice((1, 1, 2, 3))
        start, end = source.span(definition.body[0])[0], source.span(definition.body[-1])[1]
        whole_body = source.span(definition.node.body[0])[0]
        asked = {}
        if level == 3:
            lines = definition.first_line, (definition.node.end_lineno or 0) + 1
            edit = Edit(source.line_start(lines[0]), source.line_start(lines[1]), "")
            signature = " ".join(source.text[source.span(definition.node)[0] : whole_body].split()).removesuffix(":")
            asked["signature"] = f"Its definition is gone; it begins with `{signature}`."
            if definition.docstring:
                asked["documentation"] = f"Its documentation was:\n\n{definition.docstring}"
        elif level == 2 and definition.docstring is not None:
            edit = Edit(whole_body, end, "raise NotImplementedError")
        else:
            edit = Edit(start, end, "raise NotImplementedError")
            level = 1 if definition.docstring is not None else 2
        text = source.edited([edit])
        if is_other_program(source, text):
            yield Candidate(
                kind="feature", level=level, what="function", write={source.path: text},
                lines={source.path: frozenset(definition.lines)}, functions=(f"{source.path}:{definition.name}",),
                asked=asked, idle={source.path: source.edited([Edit(start, end, "return None")])},
            )  # fmt: skip


def _shuffled(baseline: Baseline, generator: random.Random) -> list[_Place]:
    """Return all defects of tested functions, those of each function spread over the list."""
    found = [
        _Place(source, definition, defect)
        for source, definition in tested_functions(baseline)
        for defect in defects(source, definition)
    ]
    generator.shuffle(found)
    return found


def _lines(place: _Place) -> Set[int]:
    """Return the lines by which tests may notice a defect."""
    return place.definition.lines if place.defect.whole else {place.defect.line}


def _belongs(one: _Place, other: _Place, *, same_function: bool) -> bool:
    """Return whether two defects make one task: in one function about a common variable, or in two of a file."""
    if one.source is not other.source or (one.definition is other.definition) != same_function:
        return False
    if same_function and not one.defect.names & other.defect.names:
        return False
    spans = sorted((edit.start, edit.end) for each in (one, other) for edit in each.defect.edits)
    return all(first[1] <= second[0] for first, second in pairwise(spans))


def _broken(kind: str, places: Sequence[_Place], level: int) -> Candidate | None:
    """Return the candidate of some defects; None if one of them is no other program."""
    parts = [_written([place]) for place in places]
    together = _written(places)
    if together is None or any(part is None for part in parts):
        return None
    lines: dict[str, frozenset[int]] = {}
    for source, definition, defect in places:
        lines[source.path] = lines.get(source.path, frozenset()) | _lines(_Place(source, definition, defect))
    return Candidate(
        kind=kind, level=level, what=" and ".join(place.defect.what for place in places), write=together, lines=lines,
        functions=tuple(dict.fromkeys(f"{place.source.path}:{place.definition.name}" for place in places)),
        parts=tuple(part for part in parts if part is not None) if len(places) > 1 else (),
    )  # fmt: skip


def _written(places: Sequence[_Place]) -> dict[str, str] | None:
    """Return the files with some defects, path → text; None if one is no other program."""
    texts = {}
    for source in dict.fromkeys(place.source for place in places):
        edits = [edit for place in places if place.source is source for edit in place.defect.edits]
        text = source.edited(edits)
        if not is_other_program(source, text):
            return None
        texts[source.path] = text
    return texts
