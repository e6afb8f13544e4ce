"""What 10,000 environments on 100 machines need of each component, computed from kept result files.

    python benchmarks/cluster_plan.py

Nothing is measured here. A component's demand is a figure of a result file times the turns, calls or environments of
the plan; the one whose supply is used up first limits the whole. Figures of a busy machine are rather too high.
"""

from __future__ import annotations

from dataclasses import dataclass

from results import figure, read

ENVIRONMENTS = 10_000
MACHINES = 100
BATCH = 64
"""Environments of an actor."""
SECONDS = 2.0
"""From one turn of an environment to the next: what a model takes to answer."""
BYTES = 2_000
"""Of an observation."""
LINK = 1e9 / 8
"""Bytes a second of a machine's network, at 1 Gbit/s."""
MEMORY = 4_000.0
"""MB of a machine for Ray and actors, as in the manifest for KubeRay."""
RAY = 510.0
"""MB of a node's own Ray processes."""
GAME = "game:GuessTheNumber-v0-easy"


@dataclass(frozen=True)
class Component:
    """Something of which a machine has so much."""

    name: str
    demand: float
    """Of the plan, on the machine that needs most of it."""
    supply: float
    unit: str
    fixed: float = 0.0
    """What of the demand does not grow with the environments."""

    @property
    def share(self) -> float:
        """The part of the supply that is used."""
        return self.demand / self.supply

    @property
    def most(self) -> float:
        """Environments at which the supply is used up, all else being equal."""
        return ENVIRONMENTS * (self.supply - self.fixed) / (self.demand - self.fixed)


def components() -> dict[str, list[Component]]:
    """Return the components of each layout: one driver with actors, and an engine on every node."""
    turns = ENVIRONMENTS / SECONDS
    calls = float(_number("ray_mode", GAME, "driver, calls a CPU s"))
    actor = float(_number("ray_mode", GAME, "actor, MB PSS"))
    stepped = float(_number("ray_mode", GAME, "actors, µs a step"))
    asked = float(_number("model_client", "client and policy", "ms of CPU a request"))
    on_a_machine = ENVIRONMENTS / MACHINES
    actors = -(-on_a_machine // BATCH)
    memory = Component("memory of a machine", RAY + actors * actor, MEMORY, "MB", RAY)
    return {
        "one driver": [
            Component("a core of the driver, for calls of actors", turns / BATCH / calls, 1.0, "CPU s a second"),
            Component("a core of the driver, for requests to the model", turns * asked / 1000, 1.0, "CPU s a second"),
            Component("network of the driver, observations alone", turns * BYTES / 1e6, LINK / 1e6, "MB a second"),
            Component("a core of a machine, for steps", turns / MACHINES * stepped / 1e6, 1.0, "CPU s a second"),
            memory,
        ],
        "an engine on every node": [
            Component(
                "a core of a machine, for requests to the model", turns / MACHINES * asked / 1000, 1.0, "CPU s a second"
            ),
            memory,
        ],
    }


def _number(name: str, row: str, column: str) -> str:
    return figure(read(name), "1", row, column).replace(",", "")


def main() -> None:
    """Print the table of each layout; the component that is used up first stands first."""
    for layout, found in components().items():
        print(f"\n| {layout} | needed | there is | used | used up at |\n|---|---|---|---|---|")
        for item in sorted(found, key=lambda item: item.most):
            needed, there = f"{item.demand:,.2f} {item.unit}", f"{item.supply:,.0f} {item.unit}"
            print(f"| {item.name} | {needed} | {there} | {item.share:.1%} | {_rounded(item.most)} environments |")


def _rounded(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}"


if __name__ == "__main__":
    main()
