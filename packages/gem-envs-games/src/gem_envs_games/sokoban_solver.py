"""Shortest solutions of Sokoban rooms: A* over pushes, with the length counted in moves.

Sets of cells are bits (see :class:`gem_envs_games.sokoban_room.Room`), so that one operation moves all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from gem_envs_games.sokoban_room import Room, neighbours, single_cells

__all__ = ["solve"]

_EFFORT = 100_000  # pushes that a search may examine: half a second, many times the needs of most rooms
_GREEDY = 5  # weight of the bound in a search for just any solution

Node = tuple[int, int]
"""The boxes, and the cell of the player after the last push."""


def solve(room: Room, max_moves: int) -> list[str] | None:
    """Return the directions of a shortest solution; if that takes too long, of one within ``max_moves``.

    None if there is no solution within ``max_moves``, or the bounded search found none.
    """
    search = _Search(room, max_moves)
    solution = search.run(weight=1)
    return search.run(weight=_GREEDY) if solution is None else solution


class _Search:
    def __init__(self, room: Room, max_moves: int) -> None:
        self.room, self.max_moves = room, max_moves
        self.names = {-room.columns: "up", room.columns: "down", -1: "left", 1: "right"}
        self.live, self.rings = _push_distances(room)
        self.bounds: dict[int, int | None] = {}

    def run(self, weight: int) -> list[str] | None:
        """Search in the order of moves so far + ``weight`` × bound; weight 1 finds a shortest solution (A*)."""
        start = (self.room.boxes, self.room.player)
        moves_to: dict[Node, int] = {start: 0}
        pushed_from: dict[Node, tuple[Node, int]] = {}
        heap = [] if self.bound(self.room.boxes) is None else [(0, 0, start)]
        effort = _EFFORT
        while heap and effort > 0:
            _, minus_moves, node = heappop(heap)
            if node[0] == self.room.goals:
                return self.retrace(node, pushed_from)
            if -minus_moves > moves_to[node]:
                continue
            for pushed, step, cost in self.pushes(*node):
                effort -= 1
                moves = cost - minus_moves
                if moves < moves_to.get(pushed, moves + 1):
                    bound = self.bound(pushed[0])
                    if bound is not None and moves + bound <= self.max_moves:
                        moves_to[pushed], pushed_from[pushed] = moves, (node, step)
                        # Of equal positions, the most advanced one.
                        heappush(heap, (moves + weight * bound, -moves, pushed))
        return None

    def pushes(self, boxes: int, player: int) -> Iterator[tuple[Node, int, int]]:
        """Yield the position after each possible push, the direction, and the moves for walking there and pushing."""
        columns = self.room.columns
        free = self.room.floor & ~boxes
        takes = free & self.live
        # For each direction, the cells from which the player can push a box that way.
        places = [
            (free & (boxes >> 1) & (takes >> 2), 1),
            (free & (boxes << 1) & (takes << 2), -1),
            (free & (boxes >> columns) & (takes >> (2 * columns)), columns),
            (free & (boxes << columns) & (takes << (2 * columns)), -columns),
        ]
        unvisited = places[0][0] | places[1][0] | places[2][0] | places[3][0]
        moves, edge, reached = 1, player, player
        while edge and unvisited:
            for place in single_cells(edge & unvisited):
                for cells, step in places:
                    if cells & place:
                        box = _shifted(place, step)
                        yield (boxes ^ box ^ _shifted(box, step), box), step, moves
            unvisited &= ~edge
            edge = neighbours(edge, columns) & free & ~reached
            reached |= edge
            moves += 1

    def bound(self, boxes: int) -> int | None:
        """Return a lower bound on the pushes to a solution: the sum of the ways to the nearest goals.

        None if it is too late: a box stands where no pushes lead it to a goal, or it is stuck for good off the goals.
        """
        if boxes not in self.bounds:
            lost = (boxes & ~self.live) or (self.stuck(boxes) & ~self.room.goals)
            self.bounds[boxes] = None if lost else sum((boxes & ring).bit_count() for ring in self.rings)
        return self.bounds[boxes]

    def stuck(self, boxes: int) -> int:
        """Return the boxes that could not move even if all movable boxes (and then others) were taken away."""
        columns, walls, live = self.room.columns, ~self.room.floor, self.live
        while boxes:
            solid = walls | boxes
            across = ~((solid << 1) | (solid >> 1)) & ((live << 1) | (live >> 1))
            along = ~((solid << columns) | (solid >> columns)) & ((live << columns) | (live >> columns))
            movable = boxes & (across | along)
            if not movable:
                break
            boxes ^= movable
        return boxes

    def retrace(self, node: Node, pushed_from: dict[Node, tuple[Node, int]]) -> list[str]:
        pushes = []
        while node in pushed_from:
            box, (node, step) = node[1], pushed_from[node]
            pushes.append((node, _shifted(box, -step), step))
        directions = []
        for (boxes, player), place, step in reversed(pushes):
            directions += [*self.walk(self.room.floor & ~boxes, player, place), self.names[step]]
        return directions

    def walk(self, free: int, player: int, place: int) -> list[str]:
        """Return the directions of a shortest walk over ``free`` cells."""
        layers = [place]
        reached = place
        columns = self.room.columns
        while not player & layers[-1]:
            edge = layers[-1]
            layers.append(neighbours(edge, columns) & free & ~reached)
            reached |= layers[-1]
        directions = []
        for layer in reversed(layers[:-1]):
            step = next(step for step in self.names if _shifted(player, step) & layer)
            player = _shifted(player, step)
            directions.append(self.names[step])
        return directions


def _push_distances(room: Room) -> tuple[int, list[int]]:
    """Return the cells from which a box alone can be pushed to a goal, and those that need over 0, 1, 2, … pushes."""
    columns, floor = room.columns, room.floor
    layers = [room.goals]
    live = room.goals
    while layers[-1]:
        edge = layers[-1]
        # Pulled back from the edge: the cell beside it and the one behind that must be floor.
        across = ((edge << 1) & (floor >> 1)) | ((edge >> 1) & (floor << 1))
        along = ((edge << columns) & (floor >> columns)) | ((edge >> columns) & (floor << columns))
        layers.append((across | along) & floor & ~live)
        live |= layers[-1]
    rings, beyond = [], live
    for layer in layers[:-2]:
        beyond ^= layer
        rings.append(beyond)
    return live, rings


def _shifted(cells: int, step: int) -> int:
    return cells << step if step > 0 else cells >> -step
