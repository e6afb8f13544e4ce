"""Write catalogue.json and environments.toml from the installed reasoning-gym.

    python packages/gem-envs-reasoning/tools/write_manifest.py

Run it when the pin of reasoning-gym in pyproject.toml moves; tests/test_manifest.py says when it has to be.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(__file__).parents[1] / "src" / "gem_envs_reasoning"
DESCRIPTIONS = Path(__file__).with_name("descriptions.toml")
NO_KEYS = {"size", "seed"}

# What reasoning-gym pays for text that answers nothing, as long as there is some: part of its scores as published.
PAYS_FOR_GARBAGE = frozenset(
    [
        "advanced_geometry", "color_cube_rotation", "countdown", "emoji_mystery", "fraction_simplification",
        "palindrome_generation", "power_function", "propositional_logic", "puzzle24", "rubiks_cube", "rush_hour",
        "sentence_reordering", "tsumego",
    ]
)  # fmt: skip
# The mean over 3,000 items of the best answer there is, where some questions have none for full marks.
SOMETIMES_UNREACHABLE = {"propositional_logic": 0.997}
# What the best rule without thought may earn, with room for chance, where it is much: sets with few different answers,
# and scores as published that pay for parts of an answer (game_of_life). Measured with benchmarks/thoughtless.py;
# elsewhere it is below a quarter.
THOUGHTLESS = {
    "acre": 0.5, "circuit_logic": 0.7, "course_schedule": 0.65, "game_of_life": 1.0, "game_of_life_halting": 0.55,
    "gcd": 0.4, "isomorphic_strings": 0.55, "letter_counting": 0.5, "mahjong_puzzle": 0.35, "maze": 0.4,
    "number_format": 0.35, "number_sequence": 0.45, "prime_factorization": 0.7, "propositional_logic": 0.4,
    "ransom_note": 0.5, "rectangle_count": 0.45, "rotten_oranges": 0.6, "self_reference": 0.45, "shortest_path": 0.5,
    "syllogism": 0.8, "time_intervals": 0.45, "zebra_puzzles": 0.5,
}  # fmt: skip
# Wall seconds for the slowest items that were seen, with room for a loaded machine; elsewhere 1.0 is enough.
SLOW = {
    "arc_agi": 5.0,
    "codeio": 5.0,
    "futoshiki": 30.0,
    "game_of_life": 5.0,
    "game_of_life_halting": 5.0,
    "intermediate_integration": 10.0,
    "knight_swap": 30.0,
    "polynomial_equations": 10.0,
    "puzzle24": 10.0,
    "sokoban": 10.0,
    "zebra_puzzles": 10.0,
}
# Category of reasoning-gym → controlled tags, which gem-testing's vocabulary describes.
CONTROLLED = {
    "algebra": ["domain:mathematics", "skill:deduction"],
    "algorithmic": ["domain:logic", "skill:deduction"],
    "arc": ["domain:logic", "skill:induction"],
    "arithmetic": ["domain:mathematics", "skill:arithmetic"],
    "code": ["domain:code", "skill:deduction"],
    "cognition": ["domain:logic", "skill:deduction"],
    "composite": ["domain:logic", "skill:deduction"],
    "games": ["domain:games", "domain:logic", "skill:planning"],
    "geometry": ["domain:mathematics", "skill:spatial"],
    "graphs": ["domain:mathematics", "skill:deduction"],
    "induction": ["domain:logic", "skill:induction"],
    "logic": ["domain:logic", "skill:deduction"],
    "probability": ["domain:mathematics", "skill:estimation"],
}


def catalogue() -> dict[str, Any]:
    """Every data set but the composite, by name."""
    import reasoning_gym  # noqa: F401  # registers them
    from reasoning_gym.factory import CURRICULA, DATASETS

    entries = {}
    for name, (cls, config) in sorted(DATASETS.items()):
        if name == "composite":
            continue
        levels = (
            {key: len(found.levels) for key, found in CURRICULA[name]().attributes.items()} if name in CURRICULA else {}
        )
        keys = [field.name for field in dataclasses.fields(config) if field.init and field.name not in NO_KEYS]
        entries[name] = {"module": cls.__module__.partition(".")[2], "config": keys, "levels": levels}
    return entries


def descriptions() -> dict[str, str]:
    """One sentence for each data set."""
    return tomllib.loads(DESCRIPTIONS.read_text(encoding="utf-8"))


def manifest(entries: dict[str, Any]) -> str:
    """The text of environments.toml."""
    said = descriptions()
    lines = [
        "# What this package offers: every data set of reasoning-gym 0.1.25.",
        "# Written by tools/write_manifest.py; a test keeps it equal to the installed library.",
        "schema = 1",
    ]
    for name, entry in entries.items():
        category = entry["module"].partition(".")[0]
        tags = [*CONTROLLED[category], "reasoning-gym", category] + ["curriculum"] * bool(entry["levels"])
        lines += [
            "",
            "[[environment]]",
            f'id = "rg:{name}"',
            'entry_point = "gem_envs_reasoning:ReasoningGymEnv"',
            f"description = {json.dumps(said[name], ensure_ascii=False)}",
            f'kwargs = {{ name = "{name}" }}',
            f"tags = {json.dumps(tags)}",
            'turns = "single"',
            "reward_range = [0.0, 1.0]",
            'reference_policy = "gem.data:OraclePolicy"',
            'reference_sees = "state"',
            "step_seconds = 6.0",
            f"reset_seconds = {SLOW.get(name, 3.0)}",
        ]
        if name in THOUGHTLESS:
            lines.append(f"thoughtless_share = {THOUGHTLESS[name]}")
        if name in SOMETIMES_UNREACHABLE:
            lines.append(f"reference_return = {SOMETIMES_UNREACHABLE[name]}")
        if name in PAYS_FOR_GARBAGE:
            lines.append('exempt = { "reward.garbage" = "the library pays a little for any text in a box" }')
    lines += [
        "",
        "[[environment]]",
        'id = "rg:composite"',
        'entry_point = "gem_envs_reasoning:ReasoningGymEnv"',
        'description = "Questions of several data sets of reasoning-gym, drawn by weight; say which with datasets."',
        'kwargs = { name = "composite", datasets = ["chain_sum", "letter_counting", "family_relationships"] }',
        f"tags = {json.dumps([*CONTROLLED['composite'], 'reasoning-gym', 'composite', 'curriculum'])}",
        'turns = "single"',
        "reward_range = [0.0, 1.0]",
        'reference_policy = "gem.data:OraclePolicy"',
        'reference_sees = "state"',
        "step_seconds = 6.0",
        "reset_seconds = 3.0",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write both files."""
    entries = catalogue()
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    (PACKAGE / "catalogue.json").write_text("{\n" + rows + "\n}\n", "utf-8")
    (PACKAGE / "environments.toml").write_text(manifest(entries), "utf-8")


if __name__ == "__main__":
    main()
