"""Tasks with forms: :func:`form_task` makes a letter and the form that it fills."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

from gem_envs_web.form.letters import FILLERS, aside, corrected, letter, plainly, postscript
from gem_envs_web.form.themes import DERIVED, FAMILY_NAMES, GIVEN_NAMES, FormTheme, form_themes, options_of
from gem_envs_web.form.values import FieldFormat, FieldValue, amount_value, drawn_value, format_of, written
from gem_envs_web.sites.page import CHECKED, FieldKind

__all__ = ["FormLevel", "FormTask", "WantedField", "form_task"]

_TEST_FAMILIES = FAMILY_NAMES[::5]
_TRAIN_FAMILIES = [name for name in FAMILY_NAMES if name not in _TEST_FAMILIES]
_KINDS: dict[str, FieldKind] = {"choice": "select", "yesno": "checkbox"}


class FormLevel(NamedTuple):
    """What makes a form hard."""

    pages: int
    fields: int
    """At least so many fields, names included; a field brings those that it depends on."""
    misleading: int
    """Fields for which the letter also says a wrong value."""
    derived: int
    """Fields that must be computed from others."""
    prefilled: int
    """Fields in which something wrong stands at the beginning."""
    paraphrased: bool
    """Whether the letter says options in other words than the form."""
    hidden_formats: bool
    """Whether the form says formats only after a mistake."""


class WantedField(NamedTuple):
    """A field of a form, with the value that the letter wants."""

    name: str
    label: str
    kind: FieldKind
    form: FieldFormat
    options: tuple[str, ...]
    condition: tuple[str, str] | None
    """The field and the value without which this field is not asked for."""
    later_than: str
    """The field with an earlier date, or ""."""
    default: str
    """What stands in it at the beginning."""
    wanted: str
    """The right value as the form wants it."""
    first: str
    """The value that the letter mentions first; for a derived field, the right one."""


class FormTask(NamedTuple):
    """A letter and a form."""

    title: str
    brief: str
    pages: tuple[tuple[WantedField, ...], ...]
    hidden_formats: bool

    def fields(self) -> dict[str, WantedField]:
        """Return the fields of all pages by their names."""
        return {field.name: field for page in self.pages for field in page}

    def asked(self, values: Mapping[str, str]) -> list[str]:
        """Return the names of the fields that are asked for, given the values of the others."""
        found: list[str] = []
        for page in self.pages:
            for field in page:
                needed, value = field.condition or ("", "")
                if not needed or (needed in found and values.get(needed) == value):
                    found.append(field.name)
        return found

    def wanted(self) -> dict[str, str]:
        """Return the record that the letter wants."""
        fields = self.fields()
        every = {name: field.wanted for name, field in fields.items()}
        return {name: every[name] for name in self.asked(every)}


class _Writer:
    """One task in the making."""

    def __init__(self, rng: random.Random, theme: FormTheme, level: FormLevel, family: str) -> None:
        self.rng, self.theme, self.level = rng, theme, level
        self.person = rng.choice(GIVEN_NAMES), family
        self.values: dict[str, FieldValue] = {}
        self.first: dict[str, str] = {}
        self.formats: dict[str, FieldFormat] = {}

    def task(self) -> FormTask:
        _, common, names = form_themes()
        tables = self._chosen((*common, *self.theme.fields))
        for table in tables:
            self._draw(table)
        stated = [table for table in tables if table["kind"] not in DERIVED and self._is_asked(table)]
        sentences, postscripts = self._sentences(stated)
        own = [
            self._person_field(name, names[name], text)
            for name, text in zip(("given", "family"), self.person, strict=True)
        ]
        wrong_at_first = self._prefilled(tables)
        fields = own + [self._field(table, table["name"] in wrong_at_first) for table in tables]
        brief = letter(self.rng, *self.person, self.theme.intro, sentences, postscripts)
        return FormTask(self.theme.title, brief, _split(fields, self.level.pages), self.level.hidden_formats)

    def _chosen(self, tables: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return fields in the order of the form; each comes with those that it depends on."""
        by_name = {table["name"]: table for table in tables}
        chosen: set[str] = set()
        derived = [table["name"] for table in tables if table["kind"] in DERIVED]
        others = [name for name in by_name if name not in derived]
        self.rng.shuffle(derived)
        self.rng.shuffle(others)
        for name in derived[: self.level.derived] + others:
            if len(chosen) >= self.level.fields - 2 and name not in derived:
                break
            chosen |= {name, *_needed(by_name, name)}
        return [table for table in tables if table["name"] in chosen]

    def _draw(self, table: dict[str, Any]) -> None:
        name, kind, rng = table["name"], table["kind"], self.rng
        self.formats[name] = format_of(rng, kind, self.level.hidden_formats)
        if kind == "choice":
            options = options_of(table)
            option = rng.choice([*options])
            self.values[name] = FieldValue(kind, option, options[option] if self.level.paraphrased else option)
        elif kind == "yesno":
            yes = rng.random() < 0.5
            self.values[name] = FieldValue(kind, CHECKED if yes else "", rng.choice(table["yes" if yes else "no"]))
        elif kind in DERIVED:
            self._derive(table)
        else:
            self.values[name] = drawn_value(rng, kind, table, self.person, self._earlier(table))

    def _derive(self, table: dict[str, Any]) -> None:
        one, other = (self.values[name].content for name in table["of"])
        if table["kind"] == "days":
            self.values[table["name"]] = FieldValue("count", (other - one).days, "")
        else:
            self.values[table["name"]] = amount_value(self.rng, one * other)

    def _earlier(self, table: dict[str, Any]) -> date | None:
        if "after" not in table:
            return None
        found = self.values[table["after"][0]].content
        assert isinstance(found, date)
        return found

    def _is_asked(self, table: dict[str, Any]) -> bool:
        condition = _condition(table)
        return condition is None or self.values[condition[0]].content == condition[1]

    def _sentences(self, tables: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
        """Return the sentences of the letter in their order, and its postscripts."""
        rng = self.rng
        able = [t["name"] for t in tables if t["kind"] != "yesno"]
        misled = rng.sample(able, min(self.level.misleading, len(able)))
        groups: dict[str, list[str]] = {}
        postscripts = []
        for table in tables:
            sentence, correction = self._sentence(table, table["name"] in misled)
            condition = _condition(table)
            groups.setdefault(table["name"] if condition is None else condition[0], []).append(sentence)
            postscripts += correction
        if self.level.misleading:
            for filler in rng.sample(FILLERS, self.level.pages):
                groups[filler] = [filler]
        order = [*groups]
        rng.shuffle(order)
        return [sentence for name in order for sentence in groups[name]], postscripts

    def _sentence(self, table: dict[str, Any], misleads: bool) -> tuple[str, list[str]]:
        rng, name, noun = self.rng, table["name"], table["noun"]
        value = self.values[name]
        if table["kind"] == "yesno":
            return value.said, []
        clause = self.level.paraphrased and table.get("clauses", False)
        if not misleads:
            if table["kind"] == "choice" and not self.level.paraphrased:
                return plainly(rng, noun, f'"{value.content}"', (), clause), []  # as the form says it
            return plainly(rng, noun, value.said, table["phrases"], clause), []
        wrong = self._another(table, value)
        quoted = [f'"{one.content}"' if table["kind"] == "choice" else one.said for one in (value, wrong)]
        way = rng.random()
        if way < 0.4:
            text = aside(rng, noun, *quoted)
            if text.find(quoted[1]) < text.find(quoted[0]):
                self._mention(name, wrong)
            return text, []
        self._mention(name, wrong)
        if way < 0.7:
            return corrected(rng, noun, *quoted), []
        return plainly(rng, noun, wrong.said, table["phrases"], clause), [postscript(rng, noun, quoted[0])]

    def _mention(self, name: str, wrong: FieldValue) -> None:
        self.first[name] = written(wrong, self.formats[name])

    def _another(self, table: dict[str, Any], value: FieldValue) -> FieldValue:
        """Draw another value of a field."""
        while True:
            if table["kind"] == "choice":
                options = options_of(table)
                option = self.rng.choice([*options])
                other = FieldValue("choice", option, options[option] if self.level.paraphrased else option)
            else:
                other = drawn_value(self.rng, table["kind"], table, self.person, self._earlier(table))
            if other.content != value.content:
                return other

    def _prefilled(self, tables: Sequence[dict[str, Any]]) -> set[str]:
        able = [t["name"] for t in tables if t["kind"] not in DERIVED and self._is_asked(t)]
        return {*self.rng.sample(able, min(self.level.prefilled, len(able)))}

    def _field(self, table: dict[str, Any], prefilled: bool) -> WantedField:
        name, kind = table["name"], table["kind"]
        value = self.values[name]
        wanted = written(value, self.formats[name])
        first = self.first.get(name, wanted)
        default = ""
        if prefilled and kind == "yesno":
            default = "" if value.content else CHECKED
        elif prefilled:
            default = written(self._another(table, value), self.formats[name])
        return WantedField(
            name,
            self.rng.choice(table["labels"]),
            _KINDS.get(kind, "text"),
            self.formats[name],
            tuple(options_of(table)) if kind == "choice" else (),
            _condition(table),
            table["after"][0] if "after" in table else "",
            default,
            wanted,
            first,
        )

    def _person_field(self, name: str, table: dict[str, Any], text: str) -> WantedField:
        form = format_of(self.rng, "text", False)
        return WantedField(name, self.rng.choice(table["labels"]), "text", form, (), None, "", "", text, text)


def form_task(rng: random.Random, level: FormLevel, split: str) -> FormTask:
    """Make a task; the family name of the person who writes decides on the split.

    Args:
        rng: decides on everything.
        level: the difficulty.
        split: ``"train"`` or ``"test"``.
    """
    theme = rng.choice(form_themes()[0])
    family = rng.choice(_TEST_FAMILIES if split == "test" else _TRAIN_FAMILIES)
    return _Writer(rng, theme, level, family).task()


def _condition(table: dict[str, Any]) -> tuple[str, str] | None:
    if "if" not in table:
        return None
    name, _, value = table["if"].partition("=")
    return name, value


def _needed(by_name: Mapping[str, dict[str, Any]], name: str) -> set[str]:
    """Return the fields that a field depends on, directly or not."""
    table = by_name[name]
    direct = set(table.get("of", ()))
    if "after" in table:
        direct.add(table["after"][0])
    if (condition := _condition(table)) is not None:
        direct.add(condition[0])
    return direct.union(*(_needed(by_name, one) for one in direct))


def _split(fields: Sequence[WantedField], pages: int) -> tuple[tuple[WantedField, ...], ...]:
    """Return the fields in so many pages of nearly the same length."""
    cuts = [round(number * len(fields) / pages) for number in range(pages + 1)]
    return tuple(tuple(fields[start:end]) for start, end in pairwise(cuts))
