"""What is trained, and how: :class:`Recipe`."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_rl.curricula import ScalingInteraction
from gem_rl.returns import check_share

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Algorithm", "Recipe", "recipes"]

Algorithm = Literal["reinforce", "rebn", "grpo", "rloo", "gigpo", "erpo", "ppo"]
KeptGroups = Literal["all", "most-varied", "signal"]
OpponentDraw = Literal["uniform", "recent"]
Precision = Literal["float32", "bfloat16"]

_FROM_0 = ("warm_steps", "sft_steps", "lora", "opponents")
"""The whole numbers that may be 0."""
_SHARES = ("gamma", "lam", "keep_share", "target")
_CHOICES: dict[str, Any] = {
    "algorithm": Algorithm,
    "precision": Precision,
    "keep_groups": KeptGroups,
    "opponent_draw": OpponentDraw,
}
_LISTS: dict[str, type] = {"budgets": int, "budget_updates": int, "server_tools": str}
"""Setting that is a list → what it lists."""
_GROUPED = ("grpo", "rloo", "gigpo", "erpo")
"""Algorithms that compare the rollouts of an initial state."""


@dataclass(frozen=True)
class Recipe:
    """All settings of a training run. With the seed and the number of threads, they decide every weight."""

    environments: Mapping[str, float]
    """Environment id → its share of the episodes."""
    description: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Constructor arguments of the environments."""
    algorithm: Algorithm = "rebn"
    advantage: str = ""
    """A function of one's own in place of the algorithm, as ``module:function``; see :class:`OwnAdvantage`."""
    gamma: float = 0.9
    """The discount for each turn."""
    lam: float = 0.95
    """λ of generalized advantage estimation (``ppo``)."""
    step_weight: float = 1.0
    """ω of ``gigpo``, of the comparison of turns that saw the same observation."""
    normalize_tasks: bool = False
    """Whether advantages are standardized within each environment, and each role in it, over its tokens."""
    group: int = 1
    """Rollouts of each initial state (``grpo``, ``rloo``, ``gigpo``, ``erpo``)."""
    keep_groups: KeptGroups = "all"
    """Which groups are learnt from: all, those with the most varied returns (StarPO-S), or the fewest that hold most of
    the variance (``signal``, RAGEN-2)."""
    keep_share: float = 0.25
    """Of the groups (``most-varied``), or of the sum of their variances (``signal``)."""
    updates: int = 100
    episodes: int = 128
    """Episodes of each update."""
    epochs: int = 2
    """Passes over the episodes of an update."""
    minibatches: int = 4
    """Steps of the optimizer in each pass."""
    learning_rate: float = 2e-3
    """After a linear rise over ``rise`` updates; it then falls linearly to a tenth."""
    rise: int = 5
    clip: float = 0.2
    """ε of the clipped ratio."""
    gradient_norm: float = 1.0
    """The largest norm of the gradient."""
    entropy_bonus: float = 0.0
    kl_weight: float = 0.0
    """β of the divergence from the policy as it was before the first update, in the loss of each token."""
    value_weight: float = 0.5
    """Of the value head's error (``ppo``)."""
    world_model: float = 0.0
    """Of the loss on observations during reinforcement learning."""
    temperature: float = 1.0
    warm_episodes: int = 512
    """Episodes of the random policy for the warm start."""
    warm_steps: int = 200
    """Steps of the warm start, 32 rows each, with the loss on all tokens, observations too; 0 for no warm start."""
    warm_learning_rate: float = 2e-3
    model: str = ""
    """A causal language model in the format of Hugging Face's transformers, by path or name; by default a small
    transformer of the sizes below learns from scratch."""
    lora: int = 0
    """The rank of low-rank adapters on all linear layers of the model, which then learn in place of its weights; their
    α is twice the rank. 0 to train the weights themselves. Source: Hu et al., arXiv 2106.09685."""
    precision: Precision = "float32"
    """Of the model's weights; adapters and the value head are float32."""
    sft_steps: int = 0
    """Steps of supervised learning on the actions of the reference policy, 16 episodes each, before everything else."""
    sft_tasks: int = 128
    """Episodes of the reference policy to learn from."""
    sft_learning_rate: float = 5e-4
    letters: bool = False
    """Whether the small tokenizer keeps single capital letters apart, as it does numbers; for games of letters."""
    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 512
    """The longest row in tokens."""
    max_new_tokens: int = 12
    """The longest action in tokens."""
    harness: str = ""
    """The agent program that plays with the model, as ``gem eval --harness`` names it; by default the model plays
    alone. It needs a published model, whose chat template makes the program's prompts."""
    server_tools: tuple[str, ...] = ()
    """What is carried out where the program asks its model's server for a tool, as ``gem eval --server-tool`` names it:
    ``"web_search=search:wiki.jsonl"``, ``"code_interpreter=python"``."""
    programs: int = 8
    """Episodes of agent programs at a time."""
    keep_turns: bool = False
    """Whether each turn is written down as it ends, so that a killed run goes on within its update, after the last turn
    of each episode, and asks its model for no earlier turn again. It ends with the same weights either way. What a
    model samples must then not depend on what it computed at earlier turns: it reads each episode from its beginning
    at every turn, and answers each call of a program alone."""
    history: bool = True
    """Whether the model sees the whole episode, or the latest observation alone."""
    budgets: tuple[int, ...] = ()
    """A curriculum of growing turn limits (ScalingInter); none by default."""
    budget_updates: tuple[int, ...] = ()
    """The updates of each budget but the last, which holds on; equal parts by default."""
    opponents: int = 0
    """In environments with several agents that act in turn: how many past versions of the policy play the other agents;
    with 0 the current one plays all, and learns from all."""
    opponent_every: int = 5
    """Updates between two versions that join these opponents."""
    opponent_draw: OpponentDraw = "uniform"
    """How the opponent of an initial state is drawn: each equally, or by ``recent``: the oldest with weight 1, the next
    with 2, and so on."""
    evaluated: int = 100
    """Unseen tasks of an evaluation."""
    evaluation_temperature: float = 0.0
    """Of an evaluation's samples; 0 for greedy play. Where the tasks are few, greedy play is that many fixed episodes,
    and samples say more."""
    target: float = 0.9
    """The success that the page of results counts the way to."""

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                allowed = ", ".join(get_args(kind))
                raise ArgumentError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        for setting in fields(self):
            _check(setting.name, type(setting.default), getattr(self, setting.name))
        for name, kind in _LISTS.items():
            items = getattr(self, name)
            if any(type(item) is not kind or (isinstance(item, int) and item < 1) for item in items):
                wanted = "integers ≥ 1" if kind is int else "texts"
                raise ArgumentError(f"{name} must be a list of {wanted}, got {list(items)}")
        self._check_environments()
        if self.episodes % self.group:
            raise ArgumentError(f"episodes must be a multiple of group, got {self.episodes} and {self.group}")
        if self.precision == "bfloat16" and not self.lora:
            raise ArgumentError(
                "bfloat16 has too few digits for the small steps of training; train adapters: set lora, such as 16"
            )
        if self.harness and not self.model:
            raise ArgumentError("a harness needs a published model, which has a chat template: set model")
        if self.harness and self.algorithm == "ppo":
            raise ArgumentError("ppo needs the values of states, which calls of a program do not have; set algorithm")
        if self.server_tools and not self.harness:
            raise ArgumentError("server_tools are what agent programs ask for: set harness, or leave them out")
        if self.harness and self.opponents:
            raise ArgumentError("opponents play where the model does so itself; set opponents to 0, or no harness")
        for name, compares in (
            ("algorithm", not self.advantage and self.algorithm in _GROUPED),
            ("keep_groups", self.keep_groups != "all"),
        ):
            if compares and self.group < 2:
                raise ArgumentError(
                    f"{name} = {getattr(self, name)} compares rollouts of one initial state: set group to 2 or more"
                )
        self.turn_budget()

    def _check_environments(self) -> None:
        shares = self.environments
        if not isinstance(shares, Mapping):
            raise ArgumentError(f"environments must be a table from id to share, got {shares!r}")
        for name, share in shares.items():
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < math.inf:
                raise ArgumentError(f"environments need positive shares, got {share!r} for {name}")
        if not shares:
            raise ArgumentError("environments need positive shares, got none; name one, such as id = 1.0")

    def turn_budget(self) -> ScalingInteraction | None:
        """Return the schedule of turn limits; None without one.

        Raises:
            ArgumentError: if the budgets do not grow, or the numbers of updates do not fit them.
        """
        if not self.budgets:
            if self.budget_updates:
                raise ArgumentError(f"budget_updates are those of budgets, and there are none: {self.budget_updates}")
            return None
        return ScalingInteraction(self.budgets, self.budget_updates or max(1, self.updates // len(self.budgets)))

    @property
    def learns_values(self) -> bool:
        """Whether a value head learns."""
        return self.algorithm == "ppo" and not self.advantage

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Return the recipe of these settings.

        Raises:
            ArgumentError: for an unknown setting, with the nearest known one, or a wrong value.
        """
        known = {one.name for one in fields(cls)}
        for name in values:
            if name not in known:
                hint = nearest(name, known)
                raise ArgumentError(f"a recipe has no setting {name!r}" + (f"; did you mean {hint!r}?" if hint else ""))
        settings = dict(values)
        for name in _LISTS:
            if name in settings:
                if not isinstance(settings[name], (list, tuple)):
                    raise ArgumentError(f"{name} must be a list, got {settings[name]!r}")
                settings[name] = tuple(settings[name])
        try:
            return cls(**settings)
        except TypeError as error:
            raise ArgumentError(f"a recipe cannot be read: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {**asdict(self), **{name: list(getattr(self, name)) for name in _LISTS}}


def _check(name: str, kind: type, value: Any) -> None:
    """Raise ArgumentError unless the value of a setting is of the kind of its default, and in its range."""
    if kind is bool and type(value) is not bool:
        raise ArgumentError(f"{name} must be true or false, got {value!r}")
    if kind is str and type(value) is not str:
        raise ArgumentError(f"{name} must be a text, got {value!r}")
    least = 0 if name in _FROM_0 else 1
    if kind is int and (type(value) is not int or value < least):
        raise ArgumentError(f"{name} must be an integer ≥ {least}, got {value!r}")
    if name in _SHARES:
        check_share(value, name)
    elif kind is float and (type(value) not in (int, float) or not 0 <= value < math.inf):
        raise ArgumentError(f"{name} must be a finite number ≥ 0, got {value!r}")


@cache
def recipes() -> dict[str, Recipe]:
    """Return the recipes that come with the package, by name."""
    text = Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8")
    return {name: Recipe.from_dict(settings) for name, settings in tomllib.loads(text).items()}
