"""Reading pages the way a browser does, and hubs that are worth a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from gem_hub.details import details
from gem_hub.package import WheelPackage
from gem_hub.records import Release

VOID = {"meta", "link", "br", "hr", "input", "path", "circle", "img"}


@dataclass
class Element:
    """An element with what is in it."""

    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text below it."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, name: str = "", **attributes: str) -> list[Element]:
        """Return the elements below it with this name and these attributes, in reading order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                has = all(child.attributes.get(key.replace("_", "-")) == value for key, value in attributes.items())
                found += [child] if has and name in ("", child.name) else []
                found += child.all(name, **attributes)
        return found

    def one(self, name: str = "", **attributes: str) -> Element:
        """Return the only such element."""
        (element,) = self.all(name, **attributes)
        return element


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(element.attributes) == len(attrs), f"an attribute twice in <{tag}>"
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(page: bytes | str) -> Element:
    """Return a page as a tree; every element must be closed."""
    reader = _Reader()
    reader.feed(page.decode() if isinstance(page, bytes) else page)
    reader.close()
    assert [element.name for element in reader.open] == ["document"]
    return reader.open[0]


def documents(releases: Iterable[Release], events: Iterable[Any] = ()) -> list[dict[str, Any]]:
    """Return the contents of ``envs/NAME.json`` that records and events give."""
    by_name: dict[str, list[Release]] = {}
    for serial, release in enumerate(releases, 1):
        by_name.setdefault(release.name, []).append(release.model_copy(update={"serial": serial}))
    numbered = [event.model_copy(update={"serial": 1000 + number}) for number, event in enumerate(events)]
    packages = [
        WheelPackage.of(name, records, [event for event in numbered if event.name == name])
        for name, records in by_name.items()
    ]
    return [json.loads(details(package)) for package in packages]


def conformance_record(
    outcomes: Mapping[str, Mapping[str, str]],
    gem_core: str = "0.1.0",
    scores: Mapping[str, Any] | None = None,
    message: str = "",
) -> dict[str, Any]:
    """Return a conformance record.

    Args:
        outcomes: environment id → clause → outcome, with ``"exempt"`` for an exemption.
        gem_core: the version that it was made with.
        scores: agent → score, for every environment.
        message: of each clause that does not hold.
    """
    environments = [
        {
            "id": full_id,
            "spec": {"id": full_id, "entry_point": "toys:Thing"},
            "clauses": [
                {
                    "clause": clause,
                    "outcome": "violated" if outcome == "exempt" else outcome,
                    "message": "" if outcome == "holds" else message,
                    "advice": "",
                    "exempt": outcome == "exempt",
                }
                for clause, outcome in clauses.items()
            ],
            "scores": dict(scores or {}),
            "speed": None,
            "errors": [],
        }
        for full_id, clauses in outcomes.items()
    ]
    package = {
        "distribution": "toy-envs",
        "version": "0.1.0",
        "import_name": "toys",
        "namespaces": ["toy"],
        "source_digest": None,
        "complete": False,
        "problem": "",
        "environments": environments,
    }
    return {
        "schema": 1,
        "kit": 1,
        "gem_core": gem_core,
        "python": "3.11.2",
        "implementation": "CPython",
        "platform": "Linux x86_64",
        "packages": [package],
    }
