r"""LuckyArm: among several arms that look alike, one pays more often than the others.

The agent learns the number of arms and both probabilities, and must find the lucky arm while every pull counts. The
return is the share of the pulls that paid. For this bandit, with one lucky arm and the same two probabilities for all,
the best strategy is to pull the arm that is most likely to be the lucky one (Rodman, "On the many-armed bandit
problem", Annals of Probability 6, 1978, after Feldman, 1962, for two arms). So the reference policy is optimal, and
:func:`lucky_arm_optimum` computes what it earns exactly.

With ``tally=False`` an observation tells the last payoff alone, and the agent must keep count itself.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from gem.action_forms import BoxedChoice
from gem.arguments import boolean, integer, real
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MoveResult, legal
from gem_envs_grid.grid_game import GridGame, probability_from_words, probability_in_words
from gem_envs_grid.splits import in_split, split_name

__all__ = ["NAMES", "LuckyArmEnv", "LuckyArmPolicy", "lucky_arm_optimum"]

# fmt: off
NAMES = (
    "amber", "aster", "azure", "basil", "birch", "brook", "cedar", "cinder", "clover", "cobalt", "copper", "coral",
    "crimson", "daisy", "ebony", "elder", "ember", "fern", "flint", "garnet", "ginger", "granite", "hazel", "heather",
    "indigo", "iris", "ivory", "ivy", "jade", "jasmine", "juniper", "laurel", "lilac", "linen", "lotus", "maple",
    "marble", "meadow", "mint", "moss", "olive", "onyx", "opal", "orchid", "pearl", "pebble", "pine", "poppy",
    "quartz", "raven", "river", "robin", "rose", "ruby", "saffron", "sage", "sand", "scarlet", "silver", "slate",
    "sorrel", "thistle", "topaz", "umber", "velvet", "violet", "willow",
)
# fmt: on
"""The names that arms are given; none of them hints at anything."""

_MOST_PULLS = 1000


class LuckyArmEnv(GridGame[str]):
    r"""Pull one arm a turn with ``\boxed{name}``; each payoff earns ``1 / max_turns``.

    Args:
        arms: number of arms, 2 … 20.
        lucky: probability that the lucky arm pays, 0.01 … 0.99.
        unlucky: probability that each of the others pays, 0.01 … 0.99 and below ``lucky``.
        tally: show in each turn how often each arm was pulled and how often it paid.
        max_turns: number of pulls, 1 … 1,000.
        split: ``"train"`` or ``"test"``. No names in one order with one lucky arm are in both.
        format_penalty: points that an unreadable action costs, 0 … 1.
    """

    saved = StateFields(names=tuple[str, ...], lucky_arm=int, pulls=tuple[int, ...], payoffs=tuple[int, ...])
    request = "Which arm do you pull?"

    def __init__(
        self,
        arms: int = 6,
        lucky: float = 0.9,
        unlucky: float = 0.05,
        tally: bool = True,
        max_turns: int = 20,
        split: str = "train",
        format_penalty: float = 0.0,
    ) -> None:
        self.arms = integer("arms", arms, minimum=2, maximum=20)
        self.lucky = real("lucky", lucky, minimum=0.01, maximum=0.99)
        self.unlucky = real("unlucky", unlucky, minimum=0.01, maximum=0.99)
        if self.unlucky >= self.lucky:
            raise ArgumentError(f"unlucky must be below lucky = {self.lucky}, got {self.unlucky}")
        self.tally = boolean("tally", tally)
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=_MOST_PULLS)
        self.split = split_name(split)
        self._set_format_penalty(format_penalty)

    def _begin(self) -> None:
        while True:
            names = tuple(self.rng.sample(NAMES, self.arms))
            lucky_arm = self.rng.randrange(self.arms)
            if in_split(f"{' '.join(names)} {lucky_arm}", self.split):
                break
        self.names, self.lucky_arm = names, lucky_arm
        self.pulls = self.payoffs = (0,) * self.arms
        self._follow()

    def _follow(self) -> None:
        self.form = BoxedChoice(*self.names)
        self._arm = {name: arm for arm, name in enumerate(self.names)}
        self._rows = [f"{name} 0 of 0" for name in self.names]
        for arm in range(self.arms):
            self._describe(arm)

    def _describe(self, arm: int) -> None:
        self._rows[arm] = f"{self.names[arm]} {self.payoffs[arm]} of {self.pulls[arm]}"

    def _instructions(self) -> str:
        return (
            f"You are playing a bandit game with {self.arms} arms: {', '.join(self.names)}. The names mean nothing. A "
            "pull of an arm pays one point or none. Exactly one arm is lucky: a pull of it pays with probability "
            f"{probability_in_words(self.lucky)}, a pull of any other arm with probability "
            f"{probability_in_words(self.unlucky)}. You have {counted(self.max_turns, 'pull')}, one a turn; collect as "
            f"many points as you can. Put the name of the arm in \\boxed{{}}, for example \\boxed{{{self.names[-1]}}}."
        )

    def _board(self) -> str:
        return f"Points and pulls so far: {', '.join(self._rows)}." if self.tally else ""

    def _play(self, move: str) -> MoveResult:
        arm = self._arm[move]
        paid = self.rng.random() < (self.lucky if arm == self.lucky_arm else self.unlucky)
        self.pulls = (*self.pulls[:arm], self.pulls[arm] + 1, *self.pulls[arm + 1 :])
        if paid:
            self.payoffs = (*self.payoffs[:arm], self.payoffs[arm] + 1, *self.payoffs[arm + 1 :])
        self._describe(arm)
        return legal(f"{move} pays {'1 point' if paid else '0 points'}.", 1 / self.max_turns if paid else 0.0)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        columns = (self.names, self.pulls, self.payoffs)
        if {len(column) for column in columns} != {self.arms} or not set(self.names) <= set(NAMES):
            raise ArgumentError(f"names, pulls and payoffs must be those of {self.arms} arms")
        if len(set(self.names)) < self.arms:
            raise ArgumentError(f"names must differ, got {list(self.names)}")
        integer("lucky_arm", self.lucky_arm, minimum=0, maximum=self.arms - 1)
        for pulls, payoffs in zip(self.pulls, self.payoffs, strict=True):
            integer("payoffs", payoffs, minimum=0, maximum=integer("pulls", pulls, minimum=0, maximum=_MOST_PULLS))
        self._follow()


class LuckyArmPolicy(Policy[str, str]):
    """Pulls the arm that is most likely to be the lucky one, the first of several; this is optimal."""

    _ARMS = re.compile(r"arms: ([a-z, ]+)\.")
    _PAYOFF = re.compile(r"^Turn \d+ of \d+\. ([a-z]+) pays (\d) point", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._ARMS.search(observation)
        assert match is not None, observation
        _, lucky, unlucky = observation.split("with probability ")
        self._gain = probability_from_words(lucky) / probability_from_words(unlucky)
        self._loss = (1 - probability_from_words(lucky)) / (1 - probability_from_words(unlucky))
        self._likelihood = dict.fromkeys(match[1].split(", "), 1.0)

    def act(self, observation: str, info: Info) -> str:
        if match := self._PAYOFF.search(observation):
            self._likelihood[match[1]] *= self._gain if match[2] == "1" else self._loss
        return f"\\boxed{{{max(self._likelihood, key=self._likelihood.__getitem__)}}}"


def lucky_arm_optimum(arms: int, lucky: float, unlucky: float, pulls: int) -> float:
    """Return the highest expected share of pulls that pay: that of pulling the most likely arm.

    The positions are followed backwards; arms are exchangeable, so a position is the sorted record of all arms.
    """

    @cache
    def likelihood(record: tuple[int, int]) -> float:
        paid, unpaid = record
        return float((lucky / unlucky) ** paid * ((1 - lucky) / (1 - unlucky)) ** unpaid)

    @cache
    def value(records: tuple[tuple[int, int], ...], left: int) -> float:
        if not left:
            return 0.0
        weights = [likelihood(record) for record in records]
        arm = max(range(arms), key=weights.__getitem__)
        chance = weights[arm] / sum(weights)
        pays = chance * lucky + (1 - chance) * unlucky
        paid, unpaid = records[arm]
        others = (*records[:arm], *records[arm + 1 :])
        return pays * (1 + value(tuple(sorted((*others, (paid + 1, unpaid)))), left - 1)) + (1 - pays) * value(
            tuple(sorted((*others, (paid, unpaid + 1)))), left - 1
        )

    return value(((0, 0),) * arms, pulls) / pulls
