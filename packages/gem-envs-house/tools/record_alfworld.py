"""Records episodes of the real ALFWorld, which ``tests/test_alfworld.py`` replays here.

    pip install alfworld  # in an environment of its own: its planner is under the GPL
    python packages/gem-envs-house/tools/record_alfworld.py packages/gem-envs-house/tests/alfworld_data

ALFWorld's own games are not needed: generated tasks are written as ALFWorld's planning problems, and ALFWorld plays
them with the domain and the grammar of its package. Every second game has receptacles that share a location. Each
game is played twice: with random commands, some of them impossible, and by the reference policy.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gem_envs_house.generator import LEVELS, draw_task
from gem_envs_house.house import CLEAN, COOL, HOT, SLICED, Chore, House
from gem_envs_house.household_policy import HouseholdPolicy

TASKS = {
    "place": "pick_and_place_simple",
    "light": "look_at_obj_in_light",
    "clean": "pick_clean_then_place_in_recep",
    "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
    "two": "pick_two_obj_and_place",
    "slice": "pick_and_place_simple",
}
KINDS = tuple(TASKS)
GAMES, STEPS = 14, 40
START = "loc_bar_99_bar_9_bar_0_bar_30"
STEMS = {"sinkbasin": "sink", "bathtubbasin": "bathtub"}
ABILITIES = {"portable": "pickupable", "lamp": "toggleable"}
GOAL_MARKS = ((HOT, "isHot"), (COOL, "isCool"), (CLEAN, "isClean"), (SLICED, "isSliced"))
IMPOSSIBLE = ("dance", "go to shelf 9", "open cabinet 1", "take mug 1 from countertop 1", "use desklamp 1")


def problem_of(house: House, chore: Chore, shared: bool) -> str:
    """Return a task as a planning problem in the form of ALFWorld's ``initial_state.pddl``."""

    def place(number: int) -> str:
        kind, sign = house.receptacles[number].kind, ("plus", "minus")[number % 2]
        end = f"_bar_{kind}" if kind in STEMS else ""
        return f"{STEMS.get(kind, kind)}_bar__{sign}_{number:02d}_dot_{number * 37 % 100:02d}_bar__plus_00_dot_90{end}"

    def thing(number: int) -> str:
        sign = ("plus", "minus")[number % 2]
        return f"{house.things[number].kind}_bar__{sign}_{number:02d}_dot_{number * 53 % 100:02d}_bar__plus_01_dot_00"

    def location(number: int) -> str:
        return f"loc_bar__minus_{number // 2 * 2 if shared else number}_bar_2_bar_1_bar_30"

    facts = ["(= (total-cost) 0)", f"(atLocation agent1 {START})"]
    for number, one in enumerate(house.receptacles):
        facts.append(f"(receptacleType {place(number)} {one.kind}Type)")
        facts.append(f"(receptacleAtLocation {place(number)} {location(number)})")
        facts += [f"(openable {place(number)})"] * one.openable
    for number, item in enumerate(house.things):
        facts.append(f"(objectType {thing(number)} {item.kind}Type)")
        facts.append(f"(inReceptacle {thing(number)} {place(item.place)})")
        facts.append(f"(objectAtLocation {thing(number)} {location(item.place)})")
        facts += [f"({ABILITIES.get(one, one)} {thing(number)})" for one in sorted(item.abilities - {"blade"})]
    things, places = {one.kind for one in house.things}, {one.kind for one in house.receptacles}
    facts += [f"(canContain {b}Type {a}Type)" for a, b in sorted(house.accepted) if a in things and b in places]
    objects = ["agent1 - agent"]
    objects += [f"{name} - location" for name in sorted({START, *map(location, range(len(house.receptacles)))})]
    objects += [f"{place(number)} - receptacle" for number in range(len(house.receptacles))]
    objects += [f"{thing(number)} - object" for number in range(len(house.things))]
    objects += [f"{kind}Type - otype" for kind in sorted(things | {"knife", "butterknife"})]
    objects += [f"{kind}Type - rtype" for kind in sorted(places | {"microwave", "fridge", "sinkbasin"})]
    parts = (
        "(:domain alfred)",
        f"(:objects\n{_lines(objects)})",
        f"(:init\n{_lines(facts)})",
        f"(:goal\n{goal_of(chore)})",
    )
    return f"(define (problem generated)\n{_lines(parts)})\n"


def goal_of(chore: Chore) -> str:
    """Return a chore as the goal that ALFWorld has for its kind of task."""
    marks = " ".join(f"({name} ?o)" for mark, name in GOAL_MARKS if chore.marks & mark)
    if chore.in_light:
        return (
            "(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and "
            f"(objectType ?ot {chore.receptacle}Type) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) "
            "(atLocation ?a ?l) (inReceptacle ?ot ?r))) "
            f"(exists (?o - object ?a - agent) (and (objectType ?o {chore.thing}Type) (holds ?a ?o))))"
        )
    kind = f"(receptacleType ?r {chore.receptacle}Type)"
    if chore.number == 2:
        return (
            f"(and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 {chore.thing}Type) {kind} "
            "(inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) "
            f"(objectType ?o2 {chore.thing}Type) {kind} (inReceptacle ?o2 ?r)))))))"
        )
    return (
        f"(and (exists (?r - receptacle) (exists (?o - object) (and {marks} (inReceptacle ?o ?r) "
        f"(objectType ?o {chore.thing}Type) {kind}))))"
    )


def play(number: int, by_policy: bool) -> dict[str, Any]:
    """Play one game in ALFWorld; return the game as in its file, and what happened."""
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH

    task = draw_task(number, LEVELS["easy"], (KINDS[number % len(KINDS)],), 1, "train")
    game = {
        "pddl_domain": Path(ALFRED_PDDL_PATH).read_text(),
        "grammar": Path(ALFRED_TWL2_PATH).read_text().replace("Your task is to: UNKNOWN GOAL.", task.sentence),
        "pddl_problem": problem_of(task.house, task.chores[0], shared=number % 2 == 1),
    }
    rng, policy = random.Random(number), HouseholdPolicy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.tw-pddl"
        path.write_text(json.dumps(game))
        wanted = textworld.EnvInfos(won=True, admissible_commands=True)
        env = textworld.start(str(path), wanted, wrappers=[AlfredDemangler])
        state, steps = env.reset(), []
        opening = state.feedback
        policy.reset(opening, {})
        while len(steps) < STEPS and not state.won:
            command = policy.act(state.feedback, {}) if by_policy else _random_command(rng, state.admissible_commands)
            state, *_ = env.step(command)
            text = state.feedback.partition("\n\n\n***")[0]
            steps.append([command, text, bool(state.won), digest(state.admissible_commands)])
    # The rest of the grammar and the domain are ALFWorld's, the same for all games, and not read here.
    game["pddl_domain"], game["grammar"] = "", json.dumps({"task": [{"rhs": task.sentence}]})
    return {"game": game, "opening": opening, "steps": steps}


def _random_command(rng: random.Random, admissible: Sequence[str]) -> str:
    if rng.random() < 0.15:
        return rng.choice(IMPOSSIBLE)
    # Verbs first, since there are many places to go to.
    verbs = sorted({one.split()[0] for one in admissible} - {"look", "inventory", "help"})
    verb = rng.choice(verbs * 6 + ["look", "inventory"])
    return rng.choice(sorted(one for one in admissible if one.split()[0] == verb))


def digest(commands: Sequence[str] | None) -> int:
    """Return a number for a set of commands."""
    return zlib.crc32("\n".join(sorted(set(commands or ()) - {"help"})).encode())


def _lines(items: Any) -> str:
    return "\n".join(items) + "\n"


def main() -> None:
    """Play all games, each in a process of its own: ALFWorld's second game in a process fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--game", type=int, help="play this game alone, and print what happened")
    parser.add_argument("--policy", action="store_true", help="let the reference policy play")
    options = parser.parse_args()
    if options.game is not None:
        sys.stdout.write(json.dumps(play(options.game, options.policy)))
        return
    episodes = []
    for number in range(GAMES):
        command = [sys.executable, __file__, str(options.folder), "--game", str(number)]
        by_chance, planned = (
            json.loads(subprocess.check_output([*command, *flags]).splitlines()[-1])  # noqa: S603
            for flags in ([], ["--policy"])
        )
        kind = KINDS[number % len(KINDS)]
        split = "valid_seen" if number >= len(KINDS) else "train"
        name = f"json_2.1.1/{split}/{TASKS[kind]}-generated-{number}/trial_{number}/game.tw-pddl"
        walkthrough = [step[0] for step in planned["steps"]]
        won = planned["steps"][-1][2]
        path = options.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**planned["game"], "solvable": won, "walkthrough": walkthrough}, indent=0) + "\n")
        episodes += [{"game": name, "opening": one["opening"], "steps": one["steps"]} for one in (by_chance, planned)]
    (options.folder / "episodes.json").write_text(in_lines(episodes))


def in_lines(episodes: list[dict[str, Any]]) -> str:
    """Return episodes as JSON with a line for each step."""
    shown = []
    for one in episodes:
        steps = ",\n".join(map(json.dumps, one["steps"]))
        shown.append(
            f'{{"game": {json.dumps(one["game"])}, "opening": {json.dumps(one["opening"])}, "steps": [\n{steps}\n]}}'
        )
    return "[\n" + ",\n".join(shown) + "\n]\n"


if __name__ == "__main__":
    main()
