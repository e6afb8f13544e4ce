"""What is trained, and how: :class:`Recipe`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from gem.arguments import nearest
from gem.errors import ArgumentError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Algorithm", "Recipe", "recipes"]

Algorithm = Literal["reinforce", "rebn", "grpo", "rloo", "ppo"]

_FROM_0 = ("warm_steps", "sft_steps", "lora")
_FROM_1 = (
    "group",
    "updates",
    "episodes",
    "epochs",
    "minibatches",
    "warm_episodes",
    "sft_tasks",
    "evaluated",
    "programs",
)


@dataclass(frozen=True)
class Recipe:
    """All settings of a training run. With the seed and the number of threads, they decide every weight."""

    environments: Mapping[str, float]
    """Environment id → its share of the episodes."""
    description: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Constructor arguments of the environments."""
    algorithm: Algorithm = "rebn"
    gamma: float = 0.9
    """The discount for each turn."""
    lam: float = 0.95
    """λ of generalized advantage estimation (``ppo``)."""
    group: int = 1
    """Rollouts of each initial state (``grpo``, ``rloo``)."""
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
    precision: Literal["float32", "bfloat16"] = "float32"
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
    programs: int = 8
    """Episodes of agent programs at a time."""
    history: bool = True
    """Whether the model sees the whole episode, or the latest observation alone."""
    budgets: tuple[int, ...] = ()
    """A curriculum of turn limits (ScalingInter), each for an equal part of the updates; none by default."""
    evaluated: int = 100
    """Unseen tasks of an evaluation."""
    target: float = 0.9
    """The success that the page of results counts the way to."""

    def __post_init__(self) -> None:
        if self.algorithm not in get_args(Algorithm):
            raise ArgumentError(f"algorithm must be one of {', '.join(get_args(Algorithm))}, got {self.algorithm!r}")
        if not self.environments or min(self.environments.values()) <= 0:
            raise ArgumentError(f"environments need positive shares, got {dict(self.environments)}")
        for name in (*_FROM_0, *_FROM_1):
            least = 0 if name in _FROM_0 else 1
            if type(getattr(self, name)) is not int or getattr(self, name) < least:
                raise ArgumentError(f"{name} must be an integer ≥ {least}, got {getattr(self, name)!r}")
        if self.episodes % self.group:
            raise ArgumentError(f"episodes must be a multiple of group, got {self.episodes} and {self.group}")
        if self.precision not in ("float32", "bfloat16"):
            raise ArgumentError(f"precision must be float32 or bfloat16, got {self.precision!r}")
        if self.precision == "bfloat16" and not self.lora:
            raise ArgumentError(
                "bfloat16 has too few digits for the small steps of training; train adapters: set lora, such as 16"
            )
        if self.harness and not self.model:
            raise ArgumentError("a harness needs a published model, which has a chat template: set model")
        if self.harness and self.algorithm == "ppo":
            raise ArgumentError("ppo needs the values of states, which calls of a program do not have; set algorithm")
        if self.algorithm in ("grpo", "rloo") and self.group < 2:
            raise ArgumentError(f"{self.algorithm} compares rollouts of one initial state: set group to 2 or more")

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
        if "budgets" in settings:
            settings["budgets"] = tuple(settings["budgets"])
        try:
            return cls(**settings)
        except TypeError as error:
            raise ArgumentError(f"a recipe cannot be read: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {**asdict(self), "budgets": list(self.budgets)}


@cache
def recipes() -> dict[str, Recipe]:
    """Return the recipes that come with the package, by name."""
    text = Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8")
    return {name: Recipe.from_dict(settings) for name, settings in tomllib.loads(text).items()}
