"""Street maps: shortest ways, the nearest of marked places, and ways that are described turn by turn."""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.env import AnswerEnv
from gem_envs_visual.names import name_like, names
from gem_envs_visual.reading import Picture, look
from gem_questions.pictures.canvas import Canvas, Point, colour

__all__ = ["RouteMap", "RoutesEnv", "RoutesPolicy"]

WIDTH, HEIGHT = 480, 420
_WIDE, _HIGH = 46, 24
"""Pixels of the box of a place."""
_HEADINGS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
_ORDER = tuple(_HEADINGS)
_TURNS = {"left": -1, "straight on": 0, "right": 1}
_LONGEST = 30
_NAME = "Put its name in \\boxed{}, such as \\boxed{KAP}."

Node = tuple[int, int]
"""Column and row of a place."""
Roads = dict[tuple[Node, Node], int]
"""Both directions of each road → its length."""


class RouteLevel(NamedTuple):
    """How large the maps of a level are."""

    columns: int
    rows: int
    missing: float
    """Share of the roads that are missing, where all places can be reached without them."""
    marked: int
    turns: int
    """Crossings at which a description says where to go."""


@dataclass(frozen=True)
class RouteMap:
    """A map, and a question about it."""

    level: RouteLevel
    places: tuple[str, ...]
    """Names, row by row."""
    roads: tuple[tuple[Node, Node, int], ...]
    marked: tuple[Node, ...]
    kind: str
    """``"shortest"``, ``"nearest"`` or ``"described"``."""
    begin: Node
    end: Node
    """The place that the question names, or that is the answer."""
    heading: str = ""
    turns: tuple[str, ...] = ()

    def name(self, node: Node) -> str:
        """Return the name of a place."""
        return self.places[node[1] * self.level.columns + node[0]]

    @property
    def question(self) -> str:
        """The question, with an example of an answer."""
        begin = self.name(self.begin)
        if self.kind == "shortest":
            return (
                "The numbers on the map are the lengths of the roads. How long is the shortest way from "
                f"{begin} to {self.name(self.end)}? Put the number in \\boxed{{}}, such as \\boxed{{35}}."
            )
        if self.kind == "nearest":
            return (
                "The numbers on the map are the lengths of the roads. Which of the orange places is nearest to "
                f"{begin} by road? {_NAME}"
            )
        turns = ", ".join(self.turns)
        return (
            f"North is up on the map. You leave {begin} for the {self.heading}, and at the places that you come to, "
            f"you go one after the other: {turns}. At which place do you arrive after the last of these? {_NAME}"
        )

    @property
    def answer(self) -> str:
        """The length, or the name of the place."""
        if self.kind != "shortest":
            return self.name(self.end)
        return str(distances(_both_ways(self.roads), self.begin)[self.end])

    def structure(self) -> object:
        """Return the map without names, and the question by places."""
        return self.roads, self.marked, self.kind, self.begin, self.end, self.heading, self.turns

    def guess(self, rng: random.Random) -> str:
        """Return a name or a number, whichever is asked for."""
        return str(rng.randint(10, 4 * _LONGEST)) if self.kind == "shortest" else name_like(rng)

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        level = self.level
        for a, b, length in self.roads:
            (x0, y0), (x1, y1) = spot(level, a), spot(level, b)
            canvas.line((x0, y0), (x1, y1), "ink", 4)
            if y0 == y1:
                canvas.text((x0 + x1) // 2, y0 - 12, str(length), align="centre")
            else:
                canvas.text(x0 + 7, (y0 + y1) // 2, str(length))
        for number, name in enumerate(self.places):
            node = (number % level.columns, number // level.columns)
            x, y = spot(level, node)
            left, top = x - _WIDE // 2, y - _HIGH // 2
            canvas.rectangle(left, top, _WIDE, _HIGH, "orange" if node in self.marked else "white")
            canvas.frame(left, top, _WIDE, _HIGH, "ink")
            canvas.text(x, y, name, align="centre")
        return canvas


def spot(level: RouteLevel, node: Node) -> Point:
    """Return the pixels at which a place lies."""
    return WIDTH * (2 * node[0] + 1) // (2 * level.columns), HEIGHT * (2 * node[1] + 1) // (2 * level.rows)


def distances(roads: Roads, begin: Node) -> dict[Node, int]:
    """Return the lengths of the shortest ways from a place (Dijkstra's algorithm)."""
    beside: dict[Node, list[tuple[Node, int]]] = {}
    for (start, end), length in roads.items():
        beside.setdefault(start, []).append((end, length))
    found: dict[Node, int] = {}
    queue = [(0, begin)]
    while queue:
        far, node = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = far
        for end, length in beside.get(node, ()):
            if end not in found:
                heapq.heappush(queue, (far + length, end))
    return found


def _both_ways(roads: tuple[tuple[Node, Node, int], ...]) -> Roads:
    return {pair: length for a, b, length in roads for pair in ((a, b), (b, a))}


def _follow(roads: Roads, begin: Node, heading: str, turns: tuple[str, ...]) -> Node | None:
    """Return where a described way ends; None where a road is missing."""
    node, direction = begin, _ORDER.index(heading)
    for turn in (None, *turns):
        if turn is not None:
            direction = (direction + _TURNS[turn]) % len(_ORDER)
        dx, dy = _HEADINGS[_ORDER[direction]]
        following = (node[0] + dx, node[1] + dy)
        if (node, following) not in roads:
            return None
        node = following
    return node


class RoutesEnv(AnswerEnv[RouteMap]):
    """Find shortest ways, the nearest place, and the end of a described way on a street map.

    The arguments are those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    levels: ClassVar[Mapping[str, RouteLevel]] = {
        "easy": RouteLevel(3, 3, 0.1, 3, 2),
        "medium": RouteLevel(4, 4, 0.2, 4, 4),
        "hard": RouteLevel(6, 5, 0.3, 5, 8),
    }

    def _drawn(self, rng: random.Random) -> RouteMap:
        level: RouteLevel = self._level
        kind = rng.choice(("shortest", "nearest", "described"))
        while True:
            roads = _drawn_roads(rng, level)
            nodes = [(column, row) for row in range(level.rows) for column in range(level.columns)]
            places = tuple(names(rng, len(nodes)))
            begin, end = rng.sample(nodes, 2)
            both = _both_ways(roads)
            if kind == "described":
                heading = rng.choice(_ORDER)
                turns = _drawn_turns(rng, both, begin, heading, level.turns)
                arrived = _follow(both, begin, heading, turns)
                if arrived is None or arrived == begin or len(turns) < level.turns:
                    continue
                return RouteMap(level, places, roads, (), kind, begin, arrived, heading, turns)
            far = distances(both, begin)
            if kind == "nearest":
                marked = tuple(sorted(rng.sample([node for node in nodes if node != begin], level.marked)))
                first, second = sorted(marked, key=far.__getitem__)[:2]
                if far[first] < far[second]:
                    return RouteMap(level, places, roads, marked, kind, begin, first)
            elif (begin, end) not in both:
                return RouteMap(level, places, roads, (), kind, begin, end)


def _drawn_turns(rng: random.Random, roads: Roads, begin: Node, heading: str, count: int) -> tuple[str, ...]:
    """Return turns that the roads allow, fewer than ``count`` where a way comes to a dead end."""
    turns: tuple[str, ...] = ()
    while len(turns) < count:
        possible = [turn for turn in _TURNS if _follow(roads, begin, heading, (*turns, turn)) is not None]
        if not possible:
            break
        turns += (rng.choice(possible),)
    return turns


def _drawn_roads(rng: random.Random, level: RouteLevel) -> tuple[tuple[Node, Node, int], ...]:
    """Return roads between neighbours that connect all places."""
    pairs: list[tuple[Node, Node]] = []
    for row in range(level.rows):
        for column in range(level.columns):
            pairs += [((column, row), (column + 1, row))] * (column + 1 < level.columns)
            pairs += [((column, row), (column, row + 1))] * (row + 1 < level.rows)
    wanted = round(len(pairs) * (1 - level.missing))
    for pair in rng.sample(pairs, len(pairs)):
        if len(pairs) <= wanted:
            break
        fewer = [one for one in pairs if one != pair]
        if len(distances(_both_ways(tuple((a, b, 1) for a, b in fewer)), (0, 0))) == level.rows * level.columns:
            pairs = fewer
    return tuple((a, b, rng.randint(2, _LONGEST)) for a, b in pairs)


class RoutesPolicy(Policy[Observation, str]):
    """Reads names, roads and lengths from the pixels, and finds the way."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, text = look(observation)
        texts = picture.texts()
        places = [one for one in texts if one.text.isalpha()]
        level = next(one for one in RoutesEnv.levels.values() if one.columns * one.rows == len(places))
        nodes = {one.text: (n % level.columns, n // level.columns) for n, one in enumerate(places)}
        numbers = [(one.x, one.y, int(one.text)) for one in texts if one.text.isdecimal()]
        roads = _both_ways(tuple(_seen_roads(picture, level, numbers)))
        question = text.partition("?")[0]
        named = [nodes[word] for word in question.replace(",", " ").split() if word in nodes]
        if "North is up" in text:
            heading = next(word for word in _ORDER if f"for the {word}" in text)
            turns = tuple(question.partition("one after the other: ")[2].partition(".")[0].split(", "))
            end = _follow(roads, named[0], heading, turns)
        elif "orange" in text:
            far = distances(roads, named[0])
            marked = [node for node in nodes.values() if picture.at(*_corner(level, node)) == colour("orange")]
            end = min(marked, key=far.__getitem__)
        else:
            return f"\\boxed{{{distances(roads, named[0])[named[1]]}}}"
        return f"\\boxed{{{next(name for name, node in nodes.items() if node == end)}}}"


def _corner(level: RouteLevel, node: Node) -> Point:
    """Return a pixel of the ground of a place's box."""
    x, y = spot(level, node)
    return x - _WIDE // 2 + 3, y - _HIGH // 2 + 3


def _seen_roads(
    picture: Picture, level: RouteLevel, numbers: list[tuple[int, int, int]]
) -> list[tuple[Node, Node, int]]:
    """Return the roads between neighbours, each with the number on it."""
    found = []
    for row in range(level.rows):
        for column in range(level.columns):
            x, y = spot(level, (column, row))
            for other in ((column + 1, row), (column, row + 1)):
                if other[0] == level.columns or other[1] == level.rows:
                    continue
                (x1, y1), ink = spot(level, other), colour("ink")
                beside = picture.at(x + _WIDE // 2 + 3, y) if y1 == y else picture.at(x, y + _HIGH // 2 + 3)
                if beside == ink:
                    middle = ((x + x1) // 2, y - 12) if y1 == y else (x + 17, (y + y1) // 2)
                    length = next(
                        length for nx, ny, length in numbers if abs(nx - middle[0]) <= 8 and abs(ny - middle[1]) <= 8
                    )
                    found.append(((column, row), other, length))
    return found
