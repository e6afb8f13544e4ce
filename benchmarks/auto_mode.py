"""``mode="auto"`` beside the other modes: every installed game, environments of other packages, steps of known cost.

Run with gem-core and the packages of environments installed, on Linux::

    python benchmarks/auto_mode.py [games] [others] [synthetic] [--num-envs 64] [--rounds 15] [--choices 7] [--ids ID…]

First the environments of one sync-mode run choose random actions, from their own generators. Then all modes play the
same seeds and actions in lock-step, hence the same episodes and resets, in turns that change their order: a round is 20
steps of all environments in each mode. Where steps compute, the cost of a step is CPU time, as other work on the
machine distorts any wall clock: that of the caller, and half of that of two workers, which compute while the caller
waits. Where they wait, it is wall-clock time.

"Best / auto" is the median of the rounds' ratios of the best mode's cost to auto mode's, with the quartiles. As auto
mode runs steps as the chosen mode does, a difference between both is noise. What auto mode answers for is the choice:
it is made ``--choices`` times, and "best / worst choice" compares the means of the modes' costs, as a few rounds have
most of the resets, in all modes the same ones.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Any

from process_mode import Busy, Sleeps, cpu_of, loops_of

import gem
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.vector import VectorEnv, make_vec

MODES = ("sync", "thread", "process", "auto")
WORKERS = 2
BATCHES = 20  # of one round
LONGEST = 400.0  # CPU milliseconds of a round in sync mode, above which a round has fewer batches
OTHERS = (
    "math:WordProblems-v0",
    "qa:Atlas-v0",
    "logic:RuleWorlds-v0",
    "rg:chain_sum",
    "rg:sudoku",
    "code:Mini-v0",
)
LENGTHS = (2, 5, 8, 10, 12, 15, 18, 20, 25, 30, 50, 100, 200, 500)


def main() -> None:
    """Print a row for each environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["games"], help="games, others, synthetic")
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--choices", type=int, default=7)
    parser.add_argument("--ids", nargs="*")
    given = parser.parse_args()
    specs: list[EnvSpec] = [gem.spec(env_id) for env_id in given.ids or ()]
    if not specs:
        found = {"games": partial(gem.all_specs, "game"), "others": others, "synthetic": synthetic}
        specs = [spec for what in given.what for spec in found[what]()]
    print(
        "| environment | sync | thread | process: caller + workers | auto chooses | best / auto | best / worst choice |"
    )
    print("|---|---|---|---|---|---|---|")
    shares = []
    for spec in specs:
        row, share = compare(spec, given.num_envs, given.rounds, given.choices)
        shares.append((share, spec.id))
        print(row, flush=True)
    missed = [f"{env_id} {share:.2f}" for share, env_id in sorted(shares) if share < 0.9]
    print(
        f"\nbest / worst choice: least {min(shares)[0]:.2f}, median {statistics.median(s for s, _ in shares):.2f}, "
        f"{len(shares)} environments; below 0.9: {', '.join(missed) or 'none'}"
    )


def others() -> list[EnvSpec]:
    """Return environments of the other packages that need neither a container nor a download."""
    return [gem.spec(env_id) for env_id in OTHERS]


def synthetic() -> list[EnvSpec]:
    """Return environments whose steps compute or wait for a known time, and some whose resets cost far more."""
    rows: dict[str, tuple[type[gem.Env[Any, Any]], dict[str, Any]]] = {
        **{f"computes-{us}us": (Busy, {"loops": loops_of(us)}) for us in LENGTHS},
        **{
            f"computes-5us-resets-{us}us": (Busy, {"loops": loops_of(5), "reset_loops": loops_of(us)})
            for us in (500, 1000, 2000)
        },
        **{
            f"computes-25us-{size}-characters": (Busy, {"loops": loops_of(25), "size": size}) for size in (2000, 20_000)
        },
        **{f"waits-{us}us": (Sleeps, {"seconds": 1e-6 * us}) for us in (100, 1000)},
    }
    return [
        EnvSpec(f"bench:{name}", f"{cls.__module__}:{cls.__name__}", kwargs=kwargs)
        for name, (cls, kwargs) in rows.items()
    ]


def compare(spec: EnvSpec, num_envs: int, rounds: int, choices: int) -> tuple[str, float]:
    """Return the row of an environment, and the cost of the best mode over that of the worst choice."""
    batches, plan = recorded(spec, num_envs, rounds)
    costs: dict[str, list[tuple[float, float, float]]] = {mode: [] for mode in MODES}
    with ExitStack() as stack:
        modes = {mode: stack.enter_context(make_vec(spec, num_envs=num_envs, mode=mode, seed=0)) for mode in MODES}
        for envs in modes.values():
            envs.reset()
            cost(envs, plan)  # some games keep what they have computed, in each process anew
            envs.reset(seed=0)
        for number in range(rounds):
            order = MODES[number % len(MODES) :] + MODES[: number % len(MODES)]
            for mode in order:
                costs[mode].append(cost(modes[mode], plan[number * batches : (number + 1) * batches]))
        first = modes["auto"].mode_choice
    assert first is not None
    chosen = Counter([first.mode])
    for _ in range(choices - 1):
        with make_vec(spec, num_envs=num_envs, mode="auto", seed=0) as envs:
            assert envs.mode_choice is not None
            chosen[envs.mode_choice.mode] += 1
    waits = any(measured.waiting > measured.computing for measured in first.costs.values())
    total = {
        mode: [wall if waits else caller + workers / WORKERS for caller, workers, wall in costs[mode]] for mode in MODES
    }
    means = {mode: statistics.mean(values) for mode, values in total.items()}
    best = min(("sync", "thread", "process"), key=lambda mode: means[mode])
    ratios = statistics.quantiles([one / two for one, two in zip(total[best], total["auto"], strict=True)])
    share = min(means[best] / means[mode] for mode in chosen)
    cells = [
        *(shown(total[mode]) for mode in ("sync", "thread")),
        shown(total["process"])
        if waits
        else " + ".join(shown([triple[column] for triple in costs["process"]]) for column in (0, 1)),
        ", ".join(f"{mode} {count}" for mode, count in chosen.most_common()),
        f"{ratios[1]:.2f} ({ratios[0]:.2f} … {ratios[2]:.2f})",
        f"{share:.2f}",
    ]
    return f"| {spec.id} | " + " | ".join(cells) + " |", share


def recorded(spec: EnvSpec, num_envs: int, rounds: int) -> tuple[int, list[list[Any]]]:
    """Return the batches of a round, and the actions of all batches, chosen in a run of sync mode."""
    plan: list[list[Any]] = []
    batches = BATCHES
    with make_vec(spec, num_envs=num_envs, mode="sync", seed=0) as envs:
        envs.reset()
        begin = time.perf_counter()
        while len(plan) < rounds * batches:
            plan.append([sampled(env) for env in envs.envs])
            envs.step(plan[-1])
            if len(plan) == 2:
                batches = max(2, min(BATCHES, int(LONGEST / (1e3 * (time.perf_counter() - begin) / 2))))
    return batches, plan


def sampled(env: Any) -> Any:
    """Return a random action."""
    try:
        return env.sample_random_action()
    except NotSupportedError:
        return "\\boxed{0}"


def cost(envs: VectorEnv, batches: list[list[Any]]) -> tuple[float, float, float]:
    """Return the CPU microseconds of a step in this process and in the workers, and the wall-clock microseconds."""
    processes = getattr(envs, "worker_pids", [])
    workers, caller, wall = cpu_of(processes), time.process_time(), time.perf_counter()
    for batch in batches:
        envs.step(batch)
    wall, caller = time.perf_counter() - wall, time.process_time() - caller
    unit = 1e6 / len(batches) / envs.num_envs
    return caller * unit, (cpu_of(processes) - workers) * unit, wall * unit


def shown(values: list[float]) -> str:
    """Return the mean and the quartiles."""
    low, _, high = statistics.quantiles(values)
    return f"{statistics.mean(values):.1f} ({low:.1f} … {high:.1f})"


if __name__ == "__main__":
    main()
