"""What each setting of a recipe does to an update of ``gem train``, on batches whose advantages are worked by hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")

from click.testing import CliRunner  # noqa: E402

import gem  # noqa: E402
from gem.core import Env  # noqa: E402
from gem.errors import GemError  # noqa: E402
from gem_rl.cli.train import train_command  # noqa: E402
from gem_rl.training import trainer as trainer_module  # noqa: E402
from gem_rl.training.episode_rows import TrainingRow, training_rows  # noqa: E402
from gem_rl.training.losses import PolicyObjective  # noqa: E402
from gem_rl.training.recipe import Recipe  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rollout.trajectory import Trajectory  # noqa: E402

SCRIPTS: dict[int, list[tuple[float, ...]]] = {0: [(0, 2), (4, 0)], 1: [(0, 0), (6, 2)]}
"""By the last bit of a seed: the rewards of each turn of its two rollouts."""


class Scripted(Env[str, str]):
    """Pays what is written down, whatever is said; "start" comes before the first turn, "next" before the second."""

    resets: ClassVar[Counter[tuple[float, int]]] = Counter()

    scale: ClassVar[float] = 1.0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        key = self.scale, seed or 0
        self.rewards = list(SCRIPTS[key[1] % 2][self.resets[key] % 2])
        self.resets[key] += 1
        return "start", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reward = self.scale * self.rewards.pop(0)
        return "next", reward, not self.rewards, False, {}

    def sample_random_action(self) -> str:
        return self.rng.choice("abc")


class ScriptedTimesTen(Scripted):
    """Pays ten times as much."""

    scale = 10.0


ONE, TEN = "test:Scripted-v0", "test:ScriptedTimesTen-v0"
SMALL: dict[str, Any] = {
    "environments": {ONE: 1.0},
    "algorithm": "reinforce",
    "gamma": 0.5,
    "group": 2,
    "updates": 1,
    "episodes": 4,
    "minibatches": 1,
    "warm_episodes": 2,
    "warm_steps": 0,
    "width": 8,
    "layers": 1,
    "heads": 2,
    "context": 64,
    "max_new_tokens": 1,  # so that each turn has one token
    "evaluated": 1,
}


@pytest.fixture(autouse=True)
def prepared() -> Iterator[None]:
    """Offers the environments, and lets torch use one thread."""
    gem.register(ONE, Scripted)
    gem.register(TEN, ScriptedTimesTen)
    Scripted.resets.clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        for name in (ONE, TEN):
            gem.registry.unregister(name)


class Learnt:
    """What the trainer was given to learn from, update by update."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.updates: list[tuple[list[Trajectory], list[float]]] = []

        def noted(episodes: Any, advantages: Any, *rest: Any) -> Any:
            self.updates.append((episodes, advantages.tolist()))
            return training_rows(episodes, advantages, *rest)

        monkeypatch.setattr(trainer_module, "training_rows", noted)

    def by_rewards(self) -> dict[tuple[float, ...], tuple[float, ...]]:
        """Return the advantages of the turns of each episode of the first update, by its rewards."""
        episodes, advantages = self.updates[0]
        rest = iter(advantages)
        return {
            tuple(turn.reward for turn in one.transitions): tuple(next(rest) for _ in one.transitions)
            for one in episodes
        }


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> Learnt:
    return Learnt(monkeypatch)


def toml(value: Any) -> str:
    """Return a setting in TOML, whose inline tables are not JSON's."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def train(folder: Path, *options: str, **settings: Any) -> Any:
    """Return the result of ``gem train`` with the small recipe and these settings, into ``folder/run``."""
    config = folder / "mine.toml"
    values = {**SMALL, **settings}
    config.write_text("".join(f"{name} = {toml(value)}\n" for name, value in values.items()), encoding="utf-8")
    return CliRunner().invoke(
        train_command, ["--config", str(config), "--out", str(folder / "run"), "--json", *options]
    )


OF_ENVIRONMENT = math.sqrt(35) / 2  # the standard deviation of the returns 2, 4, 0 and 8
OF_TURNS = math.sqrt(5.25)  # that of the eight discounted returns, whose mean is 2
WORKED: dict[str, tuple[dict[str, Any], dict[tuple[float, ...], tuple[float, ...]]]] = {
    "reinforce: the discounted returns": (
        {},
        {(0, 2): (1, 2), (4, 0): (4, 0), (0, 0): (0, 0), (6, 2): (7, 2)},
    ),
    "erpo: less the mean of the group, in deviations of the environment": (
        {"algorithm": "erpo"},
        {
            (0, 2): (-1 / OF_ENVIRONMENT,) * 2,
            (4, 0): (1 / OF_ENVIRONMENT,) * 2,
            (0, 0): (-4 / OF_ENVIRONMENT,) * 2,
            (6, 2): (4 / OF_ENVIRONMENT,) * 2,
        },
    ),
    "gigpo: -1 or 1 for the episode, and twice that of the turns with the same observation": (
        {"algorithm": "gigpo", "step_weight": 2.0},
        {(0, 2): (-3, 1), (4, 0): (3, -1), (0, 0): (-3, -3), (6, 2): (3, 3)},
    ),
    "gigpo with weight 0 is grpo": (
        {"algorithm": "gigpo", "step_weight": 0.0},
        {(0, 2): (-1, -1), (4, 0): (1, 1), (0, 0): (-1, -1), (6, 2): (1, 1)},
    ),
    "normalize_tasks: standardized within each environment": (
        {"normalize_tasks": True, "environments": {ONE: 1.0, TEN: 1.0}, "episodes": 8},
        {
            tuple(scale * reward for reward in rewards): tuple((g - 2) / OF_TURNS for g in returns)
            for scale in (1, 10)
            for rewards, returns in {(0, 2): (1, 2), (4, 0): (4, 0), (0, 0): (0, 0), (6, 2): (7, 2)}.items()
            if rewards != (0, 0)
        },
    ),
    "most-varied: one half of the groups": (
        {"keep_groups": "most-varied", "keep_share": 0.5},
        {(0, 0): (0, 0), (6, 2): (7, 2)},
    ),
    "most-varied: any more of two groups is both": (
        {"keep_groups": "most-varied", "keep_share": 0.6},
        {(0, 2): (1, 2), (4, 0): (4, 0), (0, 0): (0, 0), (6, 2): (7, 2)},
    ),
    "signal: 16 of 17 of the variance lie in one group": (
        {"keep_groups": "signal", "keep_share": 0.94},
        {(0, 0): (0, 0), (6, 2): (7, 2)},
    ),
    "signal: for more, both are needed": (
        {"keep_groups": "signal", "keep_share": 0.95},
        {(0, 2): (1, 2), (4, 0): (4, 0), (0, 0): (0, 0), (6, 2): (7, 2)},
    ),
    "a filter comes before the estimator": (
        {"algorithm": "erpo", "keep_groups": "most-varied", "keep_share": 0.5},
        {(0, 0): (-1, -1), (6, 2): (1, 1)},  # in deviations of what is left
    ),
    "budgets: one turn in the first update": (
        {"budgets": [1, 2], "budget_updates": [1], "updates": 2},
        {(0,): (0,), (4,): (4,), (6,): (6,)},
    ),
}


@pytest.mark.parametrize("case", WORKED)
def test_advantages_of_an_update_are_those_worked_by_hand(tmp_path: Path, learnt: Learnt, case: str) -> None:
    """For each episode that is learnt from, turn by turn; the others are not among them."""
    settings, expected = WORKED[case]
    result = train(tmp_path, **settings)
    assert result.exit_code == 0, result.output
    found = learnt.by_rewards()
    if "environments" in settings:
        assert found.pop((0, 0)) == pytest.approx((-2 / OF_TURNS,) * 2)  # of both environments
    assert found == {rewards: pytest.approx(values, abs=1e-7) for rewards, values in expected.items()}


def test_budgets_grow_after_their_updates(tmp_path: Path, learnt: Learnt) -> None:
    """One turn for two updates, and the last budget holds on."""
    train(tmp_path, budgets=[1, 2], budget_updates=[2], updates=4)
    assert [max(map(len, episodes)) for episodes, _ in learnt.updates] == [1, 1, 2, 2]


def test_a_mixture_has_its_shares_over_all_updates(tmp_path: Path, learnt: Learnt) -> None:
    """Also one whose part of an update is less than a group, and no seed is played in two updates."""
    train(tmp_path, environments={ONE: 3.0, TEN: 1.0}, updates=8)
    played = [one.key for episodes, _ in learnt.updates for one in episodes]
    assert Counter(key.env for key in played) == {ONE: 24, TEN: 8}
    assert len(set(played)) == len(played) == 32


OWN = """
def credit(batch, episodes):
    return [turn.reward + 10 * place for one in episodes for place, turn in enumerate(one.transitions)]

def short(batch, episodes):
    return [1.0]

def undefined(batch, episodes):
    return [float("nan")] * batch.turns

def broken(batch, episodes):
    return {}["nothing"]

def of_one(batch):
    return batch.rewards

number = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module in the working directory."""
    import sys

    name = "credit_of_mine"
    (tmp_path / f"{name}.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield name
    sys.modules.pop(name, None)


def test_a_function_of_ones_own_gives_the_advantages(tmp_path: Path, learnt: Learnt, own_module: str) -> None:
    """It is found in the working directory and gets the batch and its episodes; another source is another run."""
    options = ("--advantage", f"{own_module}:credit")
    result = train(tmp_path, *options)
    assert result.exit_code == 0, result.output
    assert learnt.by_rewards() == {(0, 2): (0, 12), (4, 0): (4, 10), (0, 0): (0, 10), (6, 2): (6, 12)}
    path = tmp_path / "run" / "checkpoint.pt"
    content = torch.load(path, weights_only=False)
    torch.save({**content, "advantage_source": "of before"}, path)
    assert "with advantage_source = 'of before', and now it is" in str(train(tmp_path, *options).exception)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an algorithm": ({"algorithm": "a2c"}, "algorithm must be one of reinforce, rebn, grpo, rloo, gigpo, erpo, ppo"),
    "gigpo alone": ({"algorithm": "gigpo", "group": 1}, "algorithm = gigpo compares rollouts of one initial state"),
    "erpo alone": ({"algorithm": "erpo", "group": 1}, "algorithm = erpo compares rollouts of one initial state"),
    "a weight of steps": ({"step_weight": -1.0}, "step_weight must be a finite number ≥ 0, got -1.0"),
    "a flag": ({"normalize_tasks": "yes"}, "normalize_tasks must be true or false, got 'yes'"),
    "a filter": ({"keep_groups": "best"}, "keep_groups must be one of all, most-varied, signal, got 'best'"),
    "a filter of single episodes": ({"keep_groups": "signal", "group": 1}, "keep_groups = signal compares rollouts"),
    "a share": ({"keep_share": 1.5}, "keep_share must be a number from 0 to 1, got 1.5"),
    "a divergence": ({"kl_weight": "much"}, "kl_weight must be a finite number ≥ 0, got 'much'"),
    "budgets that fall": ({"budgets": [4, 2]}, r"budgets of turns must grow from at least 1, got \[4, 2\]"),
    "budgets of texts": ({"budgets": ["4"]}, r"budgets must be a list of integers ≥ 1, got \['4'\]"),
    "tools of a server as numbers": ({"server_tools": [1]}, r"server_tools must be a list of texts, got \[1\]"),
    "tools of a server without a program": ({"server_tools": ["code_interpreter=python"]}, "set harness"),
    "no list of budgets": ({"budgets": 4}, "budgets must be a list, got 4"),
    "updates without budgets": ({"budget_updates": [3]}, "budget_updates are those of budgets, and there are none"),
    "too many updates": ({"budgets": [1, 2], "budget_updates": [3, 3]}, "every must be ≥ 1 for each of the first 1"),
    "a share of nothing": ({"environments": {ONE: 0}}, f"positive shares, got 0 for {ONE}"),
    "a share in words": ({"environments": {ONE: "all"}}, f"positive shares, got 'all' for {ONE}"),
    "an environment": ({"environments": {"test:Scriptd-v0": 1}}, "Scriptd"),
    "an argument": ({"kwargs": {"scal": 2}}, "scal"),
    "opponents without a seat": ({"opponents": 2}, f"opponents = 2 play .* and {ONE} has one"),
    "a draw": ({"opponent_draw": "best"}, "opponent_draw must be one of uniform, recent, got 'best'"),
    "a rate": ({"learning_rate": -0.1}, "learning_rate must be a finite number ≥ 0, got -0.1"),
    "a function": ({"advantage": "credit_of_mine"}, "must look like 'package.module:Class'"),
    "no such function": ({"advantage": "credit_of_mine:debit"}, "has no attribute 'debit'"),
    "no such module": ({"advantage": "debit_of_mine:credit"}, "importing debit_of_mine failed"),
    "no function": ({"advantage": "credit_of_mine:number"}, "credit_of_mine:number' must be a function of a batch"),
    "one argument": ({"advantage": "credit_of_mine:of_one"}, "a function of a batch and its episodes: too many"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_values_are_named_before_anything_runs(tmp_path: Path, own_module: str, case: str) -> None:
    """With the setting and its value; no checkpoint is written."""
    settings, message = WRONG[case]
    result = train(tmp_path, **settings)
    with pytest.raises(GemError, match=message):
        raise result.exception
    assert not (tmp_path / "run" / "checkpoint.pt").exists()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("short", "what advantage 'credit_of_mine:short' returned must have 8 values, got 1"),
        ("undefined", r"what advantage 'credit_of_mine:undefined' returned\[0\] is nan, and must be finite"),
        ("broken", "advantage 'credit_of_mine:broken' failed: KeyError: 'nothing'"),
    ],
)
def test_wrong_advantages_are_named(tmp_path: Path, own_module: str, function: str, message: str) -> None:
    """And nothing is learnt from them."""
    result = train(tmp_path, advantage=f"{own_module}:{function}")
    with pytest.raises(GemError, match=message):
        raise result.exception


DIVERGING: dict[str, Any] = {"updates": 3, "learning_rate": 0.1, "rise": 1, "algorithm": "rebn", "max_new_tokens": 3}
"""Steps so large that the policy leaves where it began."""


def logprobs_of(model: Any, row: TrainingRow) -> list[float]:
    """Return the natural-log probability of each sampled token, by the model as it is now."""
    ids = torch.as_tensor(row.tokens.token_ids)
    with torch.no_grad():
        logprobs = model.logits(model.hidden(ids[None])[0]).log_softmax(-1)
    return [float(logprobs[place - 1, ids[place]]) for place in row.tokens.sampled.nonzero()[0]]


def test_the_reference_is_the_policy_before_the_first_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every update, also of a run that goes on; the divergence in its figures is that of the weights it has."""
    begun = Trainer(Recipe.from_dict({**SMALL, **DIVERGING}), 0, tmp_path / "begun").model
    rows: list[list[TrainingRow]] = []

    def noted(self: PolicyObjective, model: Any, chosen: Any) -> Any:
        rows.append(list(chosen))
        return parts(self, model, chosen)

    parts: Callable[..., Any] = PolicyObjective.parts
    monkeypatch.setattr(PolicyObjective, "parts", noted)
    settings = {**DIVERGING, "kl_weight": 0.5, "epochs": 1}
    assert train(tmp_path, **settings).exit_code == 0
    (folder,) = tmp_path.glob("run")
    assert len(rows) == 3
    for row in (row for update in rows for row in update):
        assert row.reference is not None
        assert row.reference[row.tokens.sampled] == pytest.approx(logprobs_of(begun, row), rel=1e-4, abs=1e-5)
    figures = [json.loads(line)["divergence"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert figures[0] == pytest.approx(0, abs=1e-6)
    for update, found in list(enumerate(figures))[1:]:
        estimates = [
            math.exp(before - now) - (before - now) - 1
            for row in rows[update]
            if row.reference is not None
            for before, now, sampled in zip(row.reference, row.tokens.logprobs, row.tokens.sampled, strict=True)
            if sampled
        ]
        assert found == pytest.approx(sum(estimates) / len(estimates), rel=1e-3)
        assert found > 1e-3
    again = Trainer(Recipe.from_dict({**SMALL, **settings}), 0, folder)
    assert again.reference is not None
    for name, weight in begun.named_parameters():
        assert torch.equal(again.reference[name], weight)


@pytest.mark.nightly
def test_the_weight_of_the_divergence_holds_the_policy_back(tmp_path: Path) -> None:
    """With a large one, the policy ends nearer to where it began, by the same figure."""
    found = []
    for weight in (1e-6, 5.0):
        path = tmp_path / str(weight)
        path.mkdir()
        Scripted.resets.clear()
        assert train(path, **{**DIVERGING, "learning_rate": 0.02, "updates": 8}, kl_weight=weight).exit_code == 0
        lines = (path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        found.append(json.loads(lines[-1])["divergence"])
    assert 0 < found[1] < found[0] / 3
