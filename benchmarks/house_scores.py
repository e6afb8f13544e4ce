"""Plays the levels of the generated households with three simple agents, and writes the table in the package's README.

    python benchmarks/house_scores.py

Episode n has the seed n, so the scores are the same on any machine. The last columns give the reference policy the same
few turns in all levels of an environment: that is what shows which level is harder. Speed is that of :mod:`gem.speed`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gem
from gem.env_spec import EnvSpec
from gem.speed import measure
from gem_testing.scores import scores_of

PAGE = Path(__file__).parents[1] / "packages" / "gem-envs-house" / "README.md"
EPISODES = 200
TURNS = {"house:Household-v0": (8, 12), "house:Composite-v0": (20, 35)}
LONG = {"house:Household-v0": 1000, "house:Composite-v0": 1000}
BEGIN, END = "<!-- python benchmarks/house_scores.py writes this table -->\n", "<!-- end of the table -->\n"
HEADER = (
    "| variant | turns | silence | random | random in 1,000 turns | reference | its turns | reference in few turns | "
    "steps per CPU second | slowest reset |\n|---|---|---|---|---|---|---|---|---|---|\n"
)
_FOREVER = 1e9  # seconds: the number of episodes alone ends a measurement


def row(base: str, spec: EnvSpec) -> str:
    """Return a line of the table."""
    scores, speed = scores_of(spec, EPISODES, _FOREVER), measure(spec, 1.0, 0)
    few = ", ".join(
        f"{scores_of(spec.with_kwargs({'max_turns': turns}), EPISODES, _FOREVER)['reference'].mean:.2f} in {turns}"
        for turns in TURNS[base]
    )
    long = scores_of(spec.with_kwargs({"max_turns": LONG[base]}), EPISODES, _FOREVER)["random"]
    with gem.make(spec) as env:
        turns = env.unwrapped.max_turns
    cells = (
        f"`{spec.id}`",
        str(turns),
        *(f"{scores[agent].mean:.3f}" for agent in ("null", "random")),
        f"{long.mean:.3f} ± {long.standard_error:.3f}",
        f"{scores['reference'].mean:.3f}",
        f"{scores['reference'].mean_turns:.1f}",
        few,
        f"{speed.steps_per_cpu_second:,.0f}",
        f"{1000 * speed.slowest_reset_cpu_seconds:.1f} ms",
    )
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the table."""
    rows = []
    for base in TURNS:
        for level in ("-easy", "", "-hard"):
            rows.append(row(base, gem.spec(base + level)))
            sys.stdout.write(rows[-1])
            sys.stdout.flush()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{HEADER}{''.join(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
