"""The call patterns of trainers that were written for the original GEM, with stub models.

Each class follows the published interface of one client and names the revision that was read. Nothing here knows more
of GEM than that client does.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from gem.envs.multiagent import MultiAgentEnv  # type: ignore[import-not-found]
from gem.envs.multiagent.multi_agent_env import AgentSelector  # type: ignore[import-not-found]
from gem.utils.parsing import extract_last_boxed_answer  # type: ignore[import-not-found]
from gem.wrappers.wrapper_factory import get_wrapper_fns  # type: ignore[import-not-found]

import gem
from gem.core import Env, EnvWrapper  # type: ignore[attr-defined]  # served by the migration table

GUESSES = [f"I try \\boxed{{{number}}}" for number in (5, 2, 8, 1, 3, 9)]


class Tokenizer:
    """The interface of a Hugging Face tokenizer that the clients use."""

    def apply_chat_template(self, messages: Any, tokenize: bool = False, add_generation_prompt: bool = False) -> str:
        return "".join(f"<{m['role']}>{m['content']}</{m['role']}>" for m in messages) + "<assistant>"

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return list(text.encode())

    def decode(self, tokens: list[int]) -> str:
        return bytes(tokens).decode()


def answer_of(observation: str) -> str:
    """A stub model: guesses at random."""
    return random.choice(GUESSES)


class TestOat:
    """axon-rl/gem a8def0f, examples/train_oat/train_oat.py: Actor.init, collect_experience, run_eval_episode."""

    @pytest.mark.parametrize("wrappers", ["", "concat", "concat,episode_tracking", "concat_chat"])
    @pytest.mark.parametrize("async_mode", [False, True])
    def test_collects_experience(self, wrappers: str, async_mode: bool) -> None:
        """Episodes of several environments side by side, one of them reset by hand in the middle of its episode."""
        env = gem.make_vec(
            ["game:GuessTheNumber-v0-easy"] * 3,
            vec_kwargs=[{"seed": 233 + j} for j in range(3)],
            wrappers=get_wrapper_fns(wrappers, tokenizer=Tokenizer()),
            async_mode=async_mode,
        )
        obs, _ = env.reset()
        episodes: list[list[float]] = [[] for _ in range(env.num_envs)]
        finished: list[list[float]] = []
        for step in range(30):
            action = [answer_of(one) for one in obs]
            next_obs, reward, terminated, truncated, info = env.step(action)
            done = terminated | truncated
            for i in range(env.num_envs):
                if step == 3 and i == 1:  # a generation that failed
                    episodes[i].clear()
                    if not done[i]:
                        next_obs[i] = env.envs[i].reset()[0]
                    continue
                episodes[i].append(reward[i])
                if done[i]:
                    assert isinstance(info[i].get("prev_ep_tool_use_counter", 0), int)
                    finished.append(list(episodes[i]))
                    episodes[i].clear()
            obs = next_obs
        assert len(finished) > 5
        assert np.isfinite(np.concatenate(finished)).all()
        env.close()


class TestVerl:
    """axon-rl/gem 089d0b9, examples/train_verl/train_verl.py: ReinforceGEMTrainer.__init__, run_agent_env_loop."""

    def test_plays_until_a_number_of_steps(self) -> None:
        """A batch of one environment, boxed answers extracted by the original's parser."""
        env = gem.make_vec(
            ["game:GuessTheNumber-v0-easy"],
            vec_kwargs=[{"seed": 233}],
            wrappers=get_wrapper_fns("concat_with_action", tokenizer=Tokenizer()),
            async_mode=False,
        )
        obs, _ = env.reset()
        for guess in GUESSES:
            assert extract_last_boxed_answer(guess)
            obs, reward, terminated, truncated, _ = env.step([guess])
            assert (len(obs), reward.shape, (terminated | truncated).dtype) == (1, (1,), np.bool_)


class TestOpenRLHF:
    """axon-rl/gem 52cbb32, examples/train_openrlhf/agent_func_multi_turn_template.py: AgentInstance."""

    def test_an_agent_instance_plays_an_episode(self) -> None:
        """The environment is made with a seed, reset by position, and asked for its limit of turns."""
        env: Any = gem.make("game:GuessTheNumber-v0", seed=time.time_ns())
        env.reset(random.randint(1, 10_000_000))
        for turn in range(env.max_turns):
            _, reward, terminated, truncated, _ = env.step(GUESSES[turn % len(GUESSES)])
            assert reward >= -1
            if terminated or truncated:
                break
        assert turn < env.max_turns


class TestTinker:
    """axon-rl/gem 3310628, examples/train_tinker/gem_adapter.py, and 9328aad, tinker_train.py."""

    def test_the_adapter_copies_environments_for_a_group(self) -> None:
        """A pool of environments; a group is deep copies of one, which then ask the same question."""
        pool = [gem.make("rg:simple_equations", seed=3) for _ in range(2)]

        async def play(env: Env[Any, Any]) -> tuple[str, float]:
            observation, _ = env.reset()
            _, reward, terminated, truncated, info = env.step("\\boxed{1}")
            assert terminated or truncated
            assert {k: v for k, v in info.items() if isinstance(v, (int, float))}
            return observation, float(reward)

        async def group() -> list[tuple[str, float]]:
            return await asyncio.gather(*(play(deepcopy(pool[0])) for _ in range(4)))

        assert len({observation for observation, _ in asyncio.run(group())}) == 1

    @pytest.mark.parametrize("env_id", ["rg:simple_equations", "game:GuessTheNumber-v0-easy", "math:Arithmetic-v0"])
    @pytest.mark.filterwarnings("ignore:.*gem-llm")
    def test_the_training_script_shares_a_data_set(self, env_id: str) -> None:
        """Each environment gets a seed, use_mp, and the data set of the first one if that has any."""
        envs = [gem.make(env_id, seed=int(time.time_ns()), use_mp=False)]
        for i in range(2):
            dataset = envs[0].dataset if hasattr(envs[0], "dataset") else None
            envs.append(gem.make(env_id, seed=int(time.time_ns()) * i, dataset=dataset, use_mp=False))
        for i in range(len(envs)):
            for wrapper in get_wrapper_fns("concat", tokenizer=Tokenizer()):
                envs[i] = wrapper(envs[i])
            observation, _ = envs[i].reset()
            assert Tokenizer().encode(observation, add_special_tokens=False)
            envs[i].step("\\boxed{1}")


class TestRL2:
    """axon-rl/gem, examples/train_rl2/async_multi_turn.py, line 76."""

    def test_environments_are_made_by_keyword_with_seeds(self) -> None:
        """One environment for each prompt, each with a seed of its own."""
        envs = [gem.make(env_id="game:Mastermind-v0-easy", seed=233 + i) for i in range(4)]
        assert len({env.reset()[0] for env in envs}) >= 1
        again = [gem.make(env_id="game:Mastermind-v0-easy", seed=233 + i) for i in range(4)]
        actions = ["\\boxed{1 2}", "\\boxed{2 1}"]
        for one, other in zip(envs, again, strict=True):
            other.reset()
            assert [one.step(a) for a in actions[:1]] == [other.step(a) for a in actions[:1]]


class TestRoll:
    """alibaba/ROLL 8eb27cc, roll/pipeline/agentic/env/__init__.py and its environments of gem."""

    def test_environments_are_registered_by_plain_names(self) -> None:
        """Fourteen names without a namespace, made by keyword."""

        class FrozenLake(Env):
            def __init__(self, size: int = 4, **_: Any) -> None:
                self.size = size

            def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
                super().reset(seed)
                return "S" * self.size, {"env_instruction": "Walk."}

            def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
                return "G", 1.0, True, False, {"metrics": {"success": True}}

        names = ["frozen_lake", "sokoban", "gem_math", "webshop", "sokoban_sandbox"]
        for name in names:
            gem.register(name, entry_point=FrozenLake)
        try:
            for name in names:
                env = gem.make(env_id=name, size=3)
                assert env.reset(seed=1)[0] == "SSS"
                assert env.step("right")[2]
        finally:
            for name in names:
                gem.unregister(name)

    def test_subclasses_of_the_domains_grade_by_their_own_means(self) -> None:
        """MathEnv is subclassed, and its static grader called with the whole response."""
        from gem.envs.math_env import MathEnv  # type: ignore[import-not-found]

        class GEMMathEnv(MathEnv):  # type: ignore[misc]
            def __init__(self, dataset: Any, seed: int = 0, **kwargs: Any) -> None:
                super().__init__(dataset=dataset, seed=seed, **kwargs)

            def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
                correct = self.check_correct(action, self.row["answer"])
                return "", float(correct), True, True, {"correct": correct}

        env = GEMMathEnv(dataset=[{"problem": "1 + 1?", "answer": "2"}], use_mp=False)
        env.reset()
        assert env.step("so \\boxed{2}")[1] == 1.0


class TestTauBench:
    """axon-rl/gem 7969822, examples/multiagent/tau_bench_retail/tau_bench_env.py."""

    def test_a_retail_episode_runs(self) -> None:
        """Agents are set after the constructor, reset takes a task, and one agent talks to a simulated user."""

        class TauBenchEnv(MultiAgentEnv):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.possible_agents = ["assistant"]
                self.agent_selector = AgentSelector(self.possible_agents, mode="sequential")
                self.user_messages: list[str] = []

            def reset(self, seed: int | None = None, task_index: int | None = None) -> Any:
                observations, infos = super().reset(seed=seed)
                self.user_messages = ["I want to return my order."]
                observations["assistant"] = self.user_messages[-1]
                infos["assistant"] = {"task": task_index}
                return observations, infos

            def observe(self, agent: str) -> str:
                return self.user_messages[-1] if self.user_messages else ""

            def _process_actions(self, actions: dict[str, str]) -> Any:
                call = json.loads(actions["assistant"])
                over = call["name"] == "transfer_to_human_agents"
                self.user_messages.append("###STOP###" if over else "Go on.")
                return (
                    {"assistant": self.user_messages[-1]},
                    {"assistant": float(over)},
                    {"assistant": over},
                    {"assistant": False},
                    {"assistant": {"source": "user"}},
                )

        env = TauBenchEnv()
        observations, infos = env.reset(task_index=2)
        assert infos["assistant"]["task"] == 2
        for name in ("respond", "transfer_to_human_agents"):
            observations, rewards, terminations, _, _ = env.step(
                {"assistant": json.dumps({"name": name, "kwargs": {}})}
            )
        assert observations["assistant"] == "###STOP###"
        assert (rewards["assistant"], terminations["assistant"]) == (1.0, True)


class TestExamples:
    """axon-rl/gem 880ec28, examples/register_new_env.py: an environment and a wrapper of a user's own."""

    def test_a_new_environment_is_registered_and_wrapped(self) -> None:
        """The class has no options; the wrapper is the original's EnvWrapper."""

        class ReverseString(Env):
            def __init__(self, str_len: int = 5) -> None:
                super().__init__()
                self.str_len = str_len

            def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
                super().reset(seed)
                self.gt_str = "".join(random.choices("abc", k=self.str_len))
                return f"Reverse {self.gt_str}.", {}

            def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
                return "", float(extract_last_boxed_answer(action) == self.gt_str[::-1]), True, True, {}

        class Shout(EnvWrapper):  # type: ignore[misc]
            def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
                observation, info = self.env.reset(seed=seed)
                return observation.upper(), info

        gem.register("custom:ReverseString", ReverseString)
        try:
            env = Shout(gem.make("custom:ReverseString", str_len=3))
            observation, _ = env.reset()
            answer = observation.removeprefix("REVERSE ").rstrip(".").lower()[::-1]
            assert env.step(f"\\boxed{{{answer}}}")[1] == 1.0
        finally:
            gem.unregister("custom:ReverseString")
