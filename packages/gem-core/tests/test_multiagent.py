"""Environments with several agents, on two that are played here: one in turns, one in parallel."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.action_forms import BoxedNumber, read_move
from gem.core import Info
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    EpisodeFinishedError,
    NotSupportedError,
    ResetNeededError,
    StateError,
)
from gem.multiagent import AgentSelector, MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.state_fields import StateFields
from gem.text import action_text

THINGS = {"cat": ("alive", "small"), "whale": ("alive", "big"), "pin": ("dead", "small"), "house": ("dead", "big")}


class TwentyQuestions(MultiAgentEnv):
    """A guesser asks about a hidden thing, in turns with an answerer; both win when it is guessed.

    Args:
        questions: how many the guesser may ask.
    """

    def __init__(self, questions: int = 20) -> None:
        super().__init__(["guesser", "answerer"], mode="sequential")
        self.questions = questions

    def _begin(self) -> None:
        self.thing = self.rng.choice(sorted(THINGS))
        self.asked = 0

    def observe(self, agent: str) -> str:
        heard = [entry["message"] for entry in self.shared_memory if entry["to"] == agent]
        secret = f"The thing is a {self.thing}. Answer yes or no. " if agent == "answerer" else "Ask, or name it. "
        return secret + (heard[-1] if heard else "")

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        ((agent, action),) = actions.items()
        text = action_text(action) or ""
        self.send_message(agent, "answerer" if agent == "guesser" else "guesser", text)
        self.asked += agent == "guesser"
        found = agent == "guesser" and text == self.thing
        out_of_questions = agent == "answerer" and self.asked >= self.questions
        over = found or out_of_questions
        everybody = dict.fromkeys(self.agents, over)
        rewards = dict.fromkeys(self.agents, float(found))
        truncations = dict.fromkeys(self.agents, out_of_questions)
        return {}, rewards, everybody, truncations, {agent: {"asked": self.asked}}

    def _random_action(self, agent: str) -> str:
        return self.action_rng.choice(sorted(THINGS) if agent == "guesser" else ["yes", "no"])

    def _save(self) -> dict[str, Any]:
        return {"thing": self.thing, "asked": self.asked}

    def _load(self, episode: dict[str, Any]) -> None:
        self.thing, self.asked = str(episode["thing"]), int(episode["asked"])


class Auction(MultiAgentEnv):
    """Everybody bids sealed for coins in every round; who has paid all its money is out, and a latecomer joins."""

    def __init__(self, rounds: int = 6) -> None:
        super().__init__(["ann", "bob", "cyd"])
        self.rounds = rounds

    def _begin(self) -> None:
        self.money = dict.fromkeys(self.agents, 5)
        self.round = 0
        self.prize = self.rng.randint(1, 4)

    def observe(self, agent: str) -> str:
        return f"Round {self.round}: the prize is {self.prize}, you have {self.money[agent]}."

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        bids = {}
        for agent, action in actions.items():
            text = action_text(action) or ""
            legal = text.isascii() and text.isdigit() and len(text) < 3
            bids[agent] = min(int(text), self.money[agent]) if legal else 0
        winner = max(bids, key=lambda agent: bids[agent])
        rewards = {winner: float(self.prize - bids[winner])}
        self.money[winner] -= bids[winner]
        self.round += 1
        if self.round == 2:
            self.add_agent("dee")
            self.money["dee"] = 5
        self.prize = self.rng.randint(1, 4)
        terminations = {agent: self.money[agent] == 0 for agent in self.agents}
        return {}, rewards, terminations, dict.fromkeys(self.agents, self.round >= self.rounds), {}

    def _random_action(self, agent: str) -> str:
        return str(self.action_rng.randint(0, 3))

    def _save(self) -> dict[str, Any]:
        return {"money": dict(self.money), "round": self.round, "prize": self.prize}

    def _load(self, episode: dict[str, Any]) -> None:
        self.money = {str(agent): int(money) for agent, money in episode["money"].items()}
        self.round, self.prize = int(episode["round"]), int(episode["prize"])


class Scripted(MultiAgentEnv):
    """Does in each step what the test says: a dict of what ``_process_actions`` returns, after ``during``."""

    def __init__(self, agents: tuple[str, ...] = ("a", "b", "c"), mode: Any = "sequential") -> None:
        super().__init__(agents, mode)
        self.log: list[str] = []
        self.dying: set[str] = set()
        self.during: Any = lambda: None
        self.result: Any = None

    def observe(self, agent: str) -> str:
        return f"{agent} sees"

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        self.log += actions
        self.during()
        dying = {agent: True for agent in self.agents if agent in self.dying}
        return self.result or ({}, {}, dying, {}, {})


def play(env: MultiAgentEnv, seed: int | None = None, steps: int = 1000) -> list[Any]:
    """One episode of random actions, as JSON values."""
    record: list[Any] = [env.reset(seed=seed)]
    while env.agents and len(record) < steps:
        record.append(env.step(env.sample_random_action()))
    return json.loads(json.dumps(record))  # type: ignore[no-any-return]


EXAMPLES = pytest.mark.parametrize("make", [TwentyQuestions, Auction])


def test_a_game_in_turns() -> None:
    """Question and answer alternate, messages arrive, and the guess ends it for both."""
    env = TwentyQuestions()
    observations, infos = env.reset(seed=4)
    assert infos == {"guesser": {}, "answerer": {}}
    assert env.thing in observations["answerer"]
    assert env.agent_selection == "guesser"
    observations, *_ = env.step({"guesser": "Is it alive?"})
    assert observations["answerer"].endswith("Is it alive?")
    assert env.agent_selection == "answerer"
    observations, rewards, terminations, truncations, infos = env.step({"answerer": "perhaps"})
    assert observations["guesser"].endswith("perhaps")
    assert (rewards, infos["answerer"], infos["guesser"]) == ({"guesser": 0.0, "answerer": 0.0}, {"asked": 1}, {})
    _, rewards, terminations, truncations, _ = env.step({"guesser": env.thing})
    assert rewards == {"guesser": 1.0, "answerer": 1.0}
    assert terminations == {"guesser": True, "answerer": True}
    assert truncations == {"guesser": False, "answerer": False}
    assert [env.agents, env.agent_selection, env.num_agents, env.max_num_agents] == [[], None, 0, 2]
    assert env.cumulative_rewards == {"guesser": 1.0, "answerer": 1.0}


def test_a_game_in_parallel() -> None:
    """All bid at once; who has no money left leaves; the latecomer is seen in the step in which it joins."""
    env = Auction()
    env.reset(seed=0)
    assert (env.active_agents, env.agent_selection) == (["ann", "bob", "cyd"], None)
    _, _, terminations, _, _ = env.step({"ann": "5", "bob": "1", "cyd": None})
    assert terminations == {"ann": True, "bob": False, "cyd": False}
    assert env.agents == ["bob", "cyd"]
    observations, rewards, *_ = env.step({"bob": "2", "cyd": b"x"})
    assert list(observations) == list(rewards) == ["bob", "cyd", "dee"]
    assert env.active_agents == ["bob", "cyd", "dee"]
    while env.agents:
        _, _, _, truncations, _ = env.step(dict.fromkeys(env.active_agents, "0"))
    assert truncations == {"bob": True, "cyd": True, "dee": True}
    assert set(env.cumulative_rewards) == {"ann", "bob", "cyd", "dee"}


@EXAMPLES
def test_the_first_seed_decides_a_whole_run(make: Any) -> None:
    """Two instances play the same episodes, and the global generators play no part."""
    runs = []
    for scramble in (1, 2):
        random.seed(scramble)
        env = make()
        before = random.getstate()
        runs.append([play(env, seed=5), play(env), play(env)])
        assert random.getstate() == before
    assert runs[0] == runs[1]
    assert make().reset(seed=6) != make().reset(seed=5) or play(make(), 6) != play(make(), 5)


@EXAMPLES
@given(seed=st.integers(0, 2**70), steps=st.integers(0, 12))
def test_state_continues_identically(make: Any, seed: int, steps: int) -> None:
    """A copy through JSON plays the rest of the run like the original, and shares nothing with it."""
    env, other = make(), make()
    play(env, seed=seed, steps=steps)
    state = env.get_state()
    written = json.dumps(state)
    other.set_state(json.loads(written))
    assert other.get_state() == state
    for _ in range(5):
        if not env.agents:
            assert play(env) == play(other)
            continue
        assert env.step(env.sample_random_action()) == other.step(other.sample_random_action())
    assert json.dumps(state) == written


def test_a_state_can_be_taken_before_the_first_reset() -> None:
    """There is no episode in it."""
    env = TwentyQuestions()
    env.set_state(json.loads(json.dumps(TwentyQuestions().get_state())))
    with pytest.raises(ResetNeededError):
        env.step({})


@EXAMPLES
def test_spawn_copies_the_state(make: Any) -> None:
    """The twin goes on from the same point."""
    env = make()
    play(env, seed=1, steps=3)
    twin = env.spawn(same_state=True)
    assert play(twin) == play(env)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("environment", "Other"),
        ("phase", 7),
        ("agents", ["a", "a"]),
        ("agents", ["stranger"]),
        ("rewards", {}),
        ("terminations", {"guesser": 1, "answerer": 0}),
        ("infos", None),
        ("selector", {"mode": "sequential"}),
        ("shared_memory", 3),
        ("episode", {}),
        ("episode", None),
        ("rng", None),
        ("cumulative_rewards", {"guesser": "x"}),
    ],
)
def test_a_wrong_state_changes_nothing(key: str, value: Any) -> None:
    """A single bad member is enough to refuse all of it."""
    env, other = TwentyQuestions(), TwentyQuestions()
    for seed, twenty_questions in enumerate((env, other)):
        twenty_questions.reset(seed=seed)
    other.step({"guesser": "Is it big?"})
    before = env.get_state()
    with pytest.raises(StateError):
        env.set_state({**other.get_state(), key: value})
    assert env.get_state() == before


@pytest.mark.parametrize("state", [None, [], {}, "x"])
def test_what_is_no_state_is_refused(state: Any) -> None:
    """With GEM's own error."""
    with pytest.raises(StateError):
        TwentyQuestions().set_state(state)


def test_the_state_of_one_agent() -> None:
    """Observation, rewards so far, flags and info, as published; of those who take part only."""
    env = Scripted()
    env.reset()
    for _ in range(2):
        env.result = ({}, {"b": 1.5}, {}, {}, {"b": {"n": 1}})
        env.step({env.agent_selection or "": "x"})
    assert env.get_state("b") == ("b sees", 3.0, False, False, {"n": 1})
    assert env.get_active_states() == {"c": ("c sees", 0.0, False, False, {})}
    with pytest.raises(ArgumentError, match="'z' takes no part; there are a, b, c"):
        env.get_state("z")


def test_a_subclass_without_declared_state_says_so() -> None:
    """Its state is refused in whole, rather than returned or set in part."""
    env = Scripted()
    before_reset = env.get_state()
    env.reset()
    with pytest.raises(NotSupportedError, match="declares no saved attributes"):
        env.get_state()
    with pytest.raises(NotSupportedError, match="declares no saved attributes"):
        env.set_state({**before_reset, "phase": "playing"})
    assert env.agents == ["a", "b", "c"]


class Counting(MultiAgentEnv):
    """Declares its form and its state."""

    form = BoxedNumber(1, 3)
    saved = StateFields(total=int)

    def _begin(self) -> None:
        self.total = 0

    def observe(self, agent: str) -> str:
        return f"The total is {self.total}."

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        self.total += sum(read_move(self.form, action) or 0 for action in actions.values())
        return {}, {}, {}, {}, {}


def test_declarations_bring_random_actions_and_the_state() -> None:
    """The form is sampled for each active agent, and a damaged state changes nothing."""
    env = Counting(["a", "b"])
    env.reset(seed=1)
    env.step(env.sample_random_action())
    twin = Counting(["a", "b"])
    twin.set_state(json.loads(json.dumps(env.get_state())))
    assert twin.total == env.total >= 2
    assert twin.sample_random_action() == env.sample_random_action()
    with pytest.raises(StateError):
        twin.set_state({**env.get_state(), "episode": {"total": "many"}})
    assert twin.get_state() == env.get_state()


@pytest.mark.parametrize("actions", [None, "x", ["x"], 3, b"", [("a", "x")]])
def test_actions_must_be_a_dict(actions: Any) -> None:
    """Anything else is a ValueError, and nothing happens."""
    env = Scripted()
    env.reset()
    with pytest.raises(ArgumentError, match="must be a dict"):
        env.step(actions)
    assert env.log == []


@pytest.mark.parametrize(
    ("mode", "actions", "message"),
    [
        ("sequential", {}, "no action for 'a'"),
        ("sequential", {"b": "x"}, "no action for 'a'"),
        ("sequential", {"a": "x", "b": "x"}, "'b' is not to act"),
        ("parallel", {"a": "x", "b": "x"}, "no action for 'c'"),
        ("parallel", {"a": "x", "b": "x", "c": "x", "z": "x"}, "'z' is not to act"),
        ("parallel", {"a": "x", "b": "x", "c": "x", 7: "x"}, "7 is not to act"),
    ],
)
def test_exactly_the_active_agents_act(mode: str, actions: dict[Any, Any], message: str) -> None:
    """A missing action and one too many are ValueErrors, and nothing happens."""
    env = Scripted(mode=mode)
    env.reset()
    with pytest.raises(ArgumentError, match=message):
        env.step(actions)
    assert (env.log, env.agent_selection) == ([], "a" if mode == "sequential" else None)


@given(
    deaths=st.lists(st.sets(st.sampled_from("abcde")), max_size=12),
    direct=st.booleans(),
)
def test_nobody_is_skipped_whoever_dies(deaths: list[set[str]], direct: bool) -> None:
    """The order of turns is that of a queue from which the dead have been taken, however they leave."""
    env = Scripted(tuple("abcde"))
    env.reset()
    queue, expected = list("abcde"), []
    for dead in deaths:
        if not queue:
            break
        expected.append(queue[0])
        queue = [agent for agent in [*queue[1:], queue[0]] if agent not in dead]
        env.dying = set() if direct else dead

        def leave(gone: set[str] = dead) -> None:
            for agent in sorted(gone):
                env.remove_agent(agent)

        env.during = leave if direct else lambda: None
        env.step({env.agent_selection or "": "x"})
        assert env.agents == sorted(queue)
    assert env.log == expected


def test_the_first_agent_may_die_in_its_turn() -> None:
    """The original then skipped the second."""
    env = Scripted()
    env.reset()
    env.dying = {"a"}
    env.step({"a": "x"})
    assert env.agent_selection == "b"


def test_an_agent_that_a_subclass_takes_off_the_list_is_gone() -> None:
    """Also from the order of turns."""
    env = Scripted()
    env.reset()
    env.during = lambda: env.agents.remove("b")
    result = env.step({"a": "x"})
    assert (env.agent_selection, result[2]["b"]) == ("c", True)


def test_who_is_removed_during_a_step_is_terminated_in_its_result() -> None:
    """Unless the subclass says that it was truncated; it has no observation then."""
    env = Scripted()
    env.reset()
    env.during = lambda: [env.remove_agent(agent) for agent in "bc"]  # type: ignore[func-returns-value]
    env.result = ({}, {"b": 2.0}, {}, {"c": True}, {})
    observations, rewards, terminations, truncations, _ = env.step({"a": "x"})
    assert observations == {"a": "a sees", "b": "", "c": ""}
    assert rewards == {"a": 0.0, "b": 2.0, "c": 0.0}
    assert terminations == {"a": False, "b": True, "c": False}
    assert truncations == {"a": False, "b": False, "c": True}
    assert env.cumulative_rewards == {"a": 0.0, "b": 2.0, "c": 0.0}


def test_who_joins_acts_in_its_turn() -> None:
    """A second joining does nothing, and the next episode begins without the newcomer."""
    env = Scripted()
    env.reset()
    env.step({"a": "x"})
    env.add_agent("d")
    env.add_agent("d")
    for agent in "bcda":
        env.step({agent: "x"})
    assert env.possible_agents == ["a", "b", "c"]
    env.reset()
    assert (env.agents, env.agent_selection) == (["a", "b", "c"], "a")


def test_an_agent_that_leaves_between_steps_leaves_no_trace_in_the_turns() -> None:
    """Leaving somebody who is not there does nothing."""
    env = Scripted()
    env.reset()
    env.remove_agent("a")
    env.remove_agent("z")
    assert env.agent_selection == "b"
    observations, *_ = env.step({"b": "x"})
    assert set(observations) == {"b", "c"}


def test_steps_need_an_episode() -> None:
    """Before the first reset, and when everybody has left, there is none; nobody can join then either."""
    env = Scripted()
    for call in (lambda: env.step({}), lambda: env.add_agent("d"), env.sample_random_action):
        with pytest.raises(ResetNeededError, match="reset"):
            call()
    env.reset()
    env.dying = {"a", "b", "c"}
    env.step({"a": "x"})
    for call in (lambda: env.step({}), lambda: env.add_agent("d"), env.sample_random_action):
        with pytest.raises(EpisodeFinishedError, match="reset"):
            call()
    env.reset()
    assert env.agents == ["a", "b", "c"]


def test_messages() -> None:
    """They are kept in order until the next reset; only those who take part send and receive."""
    env = Scripted()
    env.reset()
    env.send_message("a", "b", "psst")
    env.broadcast_message("b", "hello")
    assert env.shared_memory == [
        {"from": "a", "to": "b", "message": "psst"},
        {"from": "b", "to": "a", "message": "hello"},
        {"from": "b", "to": "c", "message": "hello"},
    ]
    for refused in (
        lambda: env.send_message("z", "a", "x"),
        lambda: env.send_message("a", "z", "x"),
        lambda: env.broadcast_message("z", "x"),
    ):
        with pytest.raises(ArgumentError, match="'z' takes no part"):
            refused()  # type: ignore[no-untyped-call]
    with pytest.raises(ArgumentTypeError, match="must be a str"):
        env.send_message("a", "b", None)  # type: ignore[arg-type]
    env.reset()
    assert env.shared_memory == []


def test_results_belong_to_the_caller() -> None:
    """Changing them changes nothing, and later steps do not change them."""
    env = Scripted()
    _, infos = env.reset()
    infos["a"]["x"] = 1
    env.result = ({}, {}, {}, {}, {"a": {"n": 1}})
    result = env.step({"a": "x"})
    kept = copy.deepcopy(result)
    result[4]["b"]["x"] = 1
    result[1]["a"] = 9.0
    assert env.get_state("b")[4] == {}
    assert env.rewards["a"] == 0.0
    env.result = ({}, {}, {"b": True}, {}, {"a": {"n": 2}})
    env.step({"b": "x"})
    assert result[4]["a"] == kept[4]["a"] == {"n": 1}


@pytest.mark.parametrize("result", [3, ({}, {}, {}, {}), ({}, {}, {}, {}, None), [{}, {}, {}, {}, {}]])
def test_a_malformed_result_of_a_subclass_is_named(result: Any) -> None:
    """The message says what ``_process_actions`` must return."""
    env = Scripted()
    env.reset()
    env.result = result
    with pytest.raises(ArgumentTypeError, match="must return five dicts"):
        env.step({"a": "x"})


def test_a_bare_subclass_says_what_is_missing() -> None:
    """Each hook names itself."""
    env = MultiAgentEnv(["a"])
    with pytest.raises(NotSupportedError, match="observe"):
        env.reset()

    class Observed(MultiAgentEnv):
        def observe(self, agent: str) -> str:
            return ""

    env = Observed(["a"])
    env.reset()
    with pytest.raises(NotSupportedError, match="_process_actions"):
        env.step({"a": "x"})
    with pytest.raises(NotSupportedError, match="_random_action"):
        env.sample_random_action()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"possible_agents": "abc"}, ArgumentTypeError),
        ({"possible_agents": [1]}, ArgumentTypeError),
        ({"possible_agents": ["a", "a"]}, ArgumentError),
        ({"mode": "turns"}, ArgumentError),
        ({"agents": ["a"]}, ArgumentTypeError),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    """With GEM's own errors."""
    with pytest.raises(error):
        MultiAgentEnv(**arguments)


def test_bad_resets_are_refused() -> None:
    """Unknown options, no agents, and seeds that are none."""
    env = Scripted()
    with pytest.raises(ArgumentError, match="no reset options"):
        env.reset(options={"x": 1})
    with pytest.raises(ArgumentError):
        env.reset(seed=-1)
    with pytest.raises(ArgumentError, match="possible_agents"):
        Scripted(agents=()).reset()


class Published(MultiAgentEnv):
    """Written as the original's examples are: everything is set by hand, and ``reset`` takes more."""

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["assistant"]
        self.agent_selector = AgentSelector(self.possible_agents, mode="sequential")
        self.heard: list[str] = []

    def reset(  # type: ignore[override]
        self, seed: int | None = None, task_index: int | None = None
    ) -> tuple[dict[str, Any], dict[str, Info]]:
        observations, infos = super().reset(seed=seed)
        self.heard = []
        observations["assistant"] = f"task {task_index or 0}"
        infos["assistant"] = {"task": task_index or 0}
        return observations, infos

    def observe(self, agent: str) -> str:
        return self.heard[-1] if self.heard else ""

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        self.heard.append(actions["assistant"])
        if "stop" in actions["assistant"]:
            self.terminations["assistant"] = True  # some set the flag, others return it
        return {}, {"assistant": 1.0}, {"assistant": False}, {"assistant": False}, {"assistant": {"source": "user"}}


def test_published_environments_run_unchanged() -> None:
    """With a seed, too, which the original could not."""
    env = Published()
    assert env.reset(seed=3, task_index=2) == ({"assistant": "task 2"}, {"assistant": {"task": 2}})
    assert env.step({"assistant": "hi"}) == (
        {"assistant": "hi"},
        {"assistant": 1.0},
        {"assistant": False},
        {"assistant": False},
        {"assistant": {"source": "user"}},
    )
    assert env.step({"assistant": "stop"})[2] == {"assistant": True}
    assert env._cumulative_rewards == {"assistant": 2.0}
    assert env.agents == []


def test_a_selector_may_be_made_in_reset() -> None:
    """The other published way."""

    class MadeInReset(Scripted):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            result = super().reset(seed=seed)
            self.agent_selector = AgentSelector(self.agents)
            return result

    env = MadeInReset(mode="parallel")
    for _ in range(2):
        env.reset()
        env.step({"a": "x"})
        assert env.agent_selection == "b"


def test_old_paths_lead_here() -> None:
    """As does ``gem`` itself."""
    from gem.envs.multiagent import MultiAgentEnv as One  # type: ignore[import-not-found]
    from gem.envs.multiagent.multi_agent_env import AgentSelector as Three  # type: ignore[import-not-found]
    from gem.multiagent.multi_agent_env import AgentSelector as Two  # type: ignore[import-not-found]

    assert One is gem.MultiAgentEnv is MultiAgentEnv
    assert Two is Three is gem.AgentSelector is AgentSelector
