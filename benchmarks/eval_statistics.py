"""Simulates evaluations and counts how often intervals cover the truth, and how often equal agents seem to differ.

    python benchmarks/eval_statistics.py
    python benchmarks/eval_statistics.py --repetitions 500

Groups are beta-binomial: each seed has a difficulty of its own. A cell is one combination of the number of seeds (20,
50, 100), the episodes of each (1, 4, 8, or random from 1 to 8), the share of successes and the correlation within a
seed. Cells with groups × min(p, 1 − p) ≥ 5 are informative. Nothing here is timed.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gem_eval.statistics import (
    detectable_difference,
    group_sizes,
    mean_bounds,
    pass_all_k,
    pass_at_k,
    share_bounds,
    simulate_groups,
    t_quantile,
)
from gem_eval.statistics.comparison import difference_bounds
from gem_eval.statistics.estimates import Floats, standard_errors, wilson_bounds
from gem_eval.statistics.simulation import SimulatedCell, error_under_null, simulation_grid

Bounds = tuple[Any, Any]
SHARES = (0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97)


def episodes_wald(means: Floats, episodes: int) -> Bounds:
    """The normal interval as if all episodes were independent."""
    p = means.mean(axis=-1)
    half = 1.96 * np.sqrt(p * (1 - p) / episodes)
    return p - half, p + half


def episodes_wilson(means: Floats, episodes: int) -> Bounds:
    """Wilson's interval as if all episodes were independent."""
    return wilson_bounds(means.mean(axis=-1), float(episodes), 1.96)


def clustered_normal(means: Floats, episodes: int) -> Bounds:
    """The normal interval with the standard error of groups."""
    p, half = means.mean(axis=-1), 1.96 * standard_errors(means)
    return p - half, p + half


def clustered_t(means: Floats, episodes: int) -> Bounds:
    """Student's t on group means."""
    p = means.mean(axis=-1)
    half = t_quantile(0.975, means.shape[-1] - 1) * standard_errors(means)
    return p - half, p + half


def wilson_t(means: Floats, episodes: int) -> Bounds:
    """Wilson's interval with the effective number of episodes and Student's t."""
    p, error = means.mean(axis=-1), standard_errors(means)
    n = np.where(error > 0, p * (1 - p) / np.where(error > 0, error, 1) ** 2, means.shape[-1])
    return wilson_bounds(p, n, t_quantile(0.975, means.shape[-1] - 1))


def pseudo_groups(means: Floats, episodes: int) -> Bounds:
    """Student's t with one group more at 0 and one at 1."""
    return mean_bounds(np.concatenate([means, np.broadcast_to([0.0, 1.0], (*means.shape[:-1], 2))], axis=-1))


def switch_at_5(means: Floats, episodes: int) -> Bounds:
    """Pseudo-groups in place of Wilson-t below 5 seeds for or against."""
    p = means.mean(axis=-1)
    few = means.shape[-1] * np.minimum(p, 1 - p) < 5
    pairs = zip(pseudo_groups(means, episodes), wilson_t(means, episodes), strict=True)
    low, high = (np.where(few, rare, usual) for rare, usual in pairs)
    return low, high


def ours(means: Floats, episodes: int) -> Bounds:
    """The interval of gem-eval: Wilson-t, lengthened to hold pseudo-groups below 2.5 seeds."""
    low, high, _ = share_bounds(means)
    return low, high


METHODS: dict[str, Callable[[Floats, int], Bounds]] = {
    "normal, episodes as independent": episodes_wald,
    "Wilson, episodes as independent": episodes_wilson,
    "normal, by seeds": clustered_normal,
    "t(G − 1), by seeds": clustered_t,
    "t(G + 1), two pseudo-seeds": pseudo_groups,
    "Wilson, effective n, t(G − 1)": wilson_t,
    "the same, pseudo-seeds instead below G·min = 5": switch_at_5,
    "**gem-eval**: the same, pseudo-seeds as well below 2.5": ours,
}


def covered(bounds: Bounds, truth: float) -> float:
    """Return the share of intervals that cover the truth."""
    low, high = bounds
    return float(((low <= truth + 1e-12) & (truth - 1e-12 <= high)).mean())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def describe(values: Sequence[float]) -> tuple[str, str, str]:
    """Return mean, worst, and the share within 93 to 97 %."""
    if not values:
        return "", "", ""
    exact = sum(0.93 <= value <= 0.97 for value in values)
    return f"{100 * np.mean(values):.1f}", f"{100 * min(values):.1f}", f"{100 * exact / len(values):.0f} %"


def successes(repetitions: int) -> None:
    """Print the coverage of all intervals for success."""
    rng = np.random.default_rng(1)
    cells = list(simulation_grid(shares=SHARES))
    found: dict[str, dict[bool, list[float]]] = {name: {True: [], False: []} for name in METHODS}
    for cell in cells:
        sizes = group_sizes(rng, cell.groups, cell.size)
        means = simulate_groups(rng, repetitions, sizes, cell.p, cell.correlation) / sizes
        for name, method in METHODS.items():
            found[name][cell.informative].append(covered(method(means, int(sizes.sum())), cell.p))
    informative = sum(cell.informative for cell in cells)
    columns = (f"{len(cells)} cells, nominal 95 %", f"{informative} informative: mean", "worst", "in 93–97 %")
    rows = [
        (name, *describe(values[True]), *describe(values[False])[:2], f"{100 * share_of(values, 0.93):.0f} %")
        for name, values in found.items()
    ]
    print_table((*columns, f"{len(cells) - informative} others: mean", "worst", "all ≥ 93 %"), rows)


def share_of(values: dict[bool, list[float]], least: float) -> float:
    """Return the share of all cells with at least this coverage."""
    both = values[True] + values[False]
    return sum(value >= least for value in both) / len(both)


def attempts(repetitions: int) -> None:
    """Print the coverage of gem-eval's interval for pass@k and pass^k."""
    rng = np.random.default_rng(2)
    rows = []
    for figure, name in ((pass_at_k, "pass@{}"), (pass_all_k, "pass^{}")):
        for k in (2, 4, 8):
            table = np.array([[figure(n, c, k) if c <= n >= k else 0.0 for c in range(9)] for n in range(9)])
            values: dict[bool, list[float]] = {True: [], False: []}
            for cell in simulation_grid(sizes=(4, 8, None)):
                sizes = group_sizes(rng, cell.groups, cell.size)
                if np.count_nonzero(sizes >= k) < 20:
                    continue
                counts = simulate_groups(rng, repetitions, sizes, cell.p, cell.correlation)[:, sizes >= k]
                truth = true_value(figure, cell, k)
                enough = counts.shape[-1] * min(truth, 1 - truth) >= 5
                values[enough].append(covered(ours(table[sizes[sizes >= k], counts], 0), truth))
            rows.append(
                (
                    name.format(k),
                    len(values[True]),
                    *describe(values[True]),
                    len(values[False]),
                    *describe(values[False])[:2],
                )
            )
    print_table(("", "informative cells", "mean", "worst", "in 93–97 %", "others", "mean", "worst"), rows)


def true_value(figure: Callable[[int, int, int], float], cell: SimulatedCell, k: int) -> float:
    """Return the expectation of pass@k or pass^k over beta-binomial groups."""
    share = cell.p if figure is pass_all_k else 1 - cell.p
    if cell.correlation == 0:
        moment = share**k
    else:
        total = (1 - cell.correlation) / cell.correlation
        moment = math.prod((share * total + i) / (total + i) for i in range(k))
    return moment if figure is pass_all_k else 1 - moment


def exact() -> None:
    """Print the exact coverage for one episode a seed, over a fine grid of shares."""
    rows = []
    for groups in (5, 10, 20, 50, 100, 200):
        means = np.tril(np.ones((groups + 1, groups)), -1)
        bounds = {name: METHODS[name](means, groups) for name in list(METHODS)[-3:]}
        shares = np.arange(0.03, 0.9705, 0.0005)
        weights = np.array(
            [[math.comb(groups, c) * p**c * (1 - p) ** (groups - c) for c in range(groups + 1)] for p in shares]
        )
        row = [str(groups)]
        for low, high in bounds.values():
            inside = (low <= shares[:, None] + 1e-12) & (shares[:, None] - 1e-12 <= high)
            chances = (weights * inside).sum(axis=1)
            row += [f"{100 * chances.mean():.1f}", f"{100 * chances.min():.1f} at p = {shares[chances.argmin()]:.3f}"]
        rows.append(row)
    names = [part for name in list(METHODS)[-3:] for part in (f"{name}: mean", "worst")]
    print_table(("seeds", *names), rows)


def null(repetitions: int) -> None:
    """Print how often equal agents seem to differ."""
    rng = np.random.default_rng(3)
    rows = []
    for same, name in ((True, "as hard for both"), (False, "independent")):
        found = [
            error_under_null(rng, cell, repetitions, same_difficulty=same) for cell in simulation_grid(shares=SHARES)
        ]
        for text, chosen in (
            ("10 and more", [error for error, differ in found if differ >= 10]),
            ("fewer", [error for error, differ in found if differ < 10]),
        ):
            exact = sum(0.04 <= error <= 0.06 for error in chosen) / len(chosen)
            rows.append(
                (
                    name,
                    text,
                    len(chosen),
                    f"{100 * np.mean(chosen):.1f}",
                    f"{100 * min(chosen):.1f} … {100 * max(chosen):.1f}",
                    f"{100 * exact:.0f} %",
                )
            )
    print_table(("difficulty of a seed", "seeds that differ", "cells", "error, mean", "range", "in 4–6 %"), rows)


def power(repetitions: int) -> None:
    """Print how often a gain of ten points is found, and the difference that would be."""
    rng = np.random.default_rng(4)
    rows = []
    for size in (1, 4):
        for groups in (20, 50, 100, 200, 500):
            # Seeds differ in difficulty: correlation 0.3 around one half; B gains ten points on each.
            hard = rng.beta(0.45 * 7 / 3, 0.55 * 7 / 3, (repetitions, groups))
            gain = np.clip(hard + 0.1, 0, 1)
            a, b = (rng.binomial(size, chance) / size for chance in (hard, gain))
            other = rng.binomial(size, rng.permuted(gain, axis=1)) / size
            true = float((gain - hard).mean())
            found = []
            for left, right in ((a, b), (a, other)):
                low, high, _ = difference_bounds(right - left, share=True)
                found.append(f"{100 * float(((low > 0) | (high < 0)).mean()):.0f} %")
            error = float(standard_errors(b - a).mean())
            rows.append((groups, size, *found, f"{100 * detectable_difference(error, groups - 1):.1f}"))
    print(f"B solves {100 * true:.1f} points more than A.\n")
    print_table(("seeds", "episodes of each", "found, same seeds", "other seeds", "detectable, points"), rows)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=4000)
    repetitions = parser.parse_args().repetitions
    begin = time.process_time()
    successes(repetitions)
    attempts(repetitions)
    exact()
    null(repetitions)
    power(repetitions)
    print(f"{repetitions} repetitions, {time.process_time() - begin:.0f} CPU seconds")


if __name__ == "__main__":
    main()
