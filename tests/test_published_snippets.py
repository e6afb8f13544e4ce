"""The snippets that the original GEM published run here as they were written."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

import gem

QUICKSTART = r"""
import gem

# List all supported environments
gem.print_envs()

# Initialize the environment
env = gem.make("game:GuessTheNumber-v0")

# Reset the environment to generate the first observation
observation, info = env.reset()

# Start the agent-environment loop
while True:
    action = env.sample_random_action() # insert policy here, e.g.,
    # (pseudocode) action = llm.generate(observation)

    # apply action and receive next observation, reward
    # and whether the episode has ended
    next_observation, reward, terminated, truncated, info = env.step(action)
    print("OBS", observation)
    print("ACT", action)

    # update the policy (online) here
    # e.g., policy = learn(policy, observation, action, reward, info)

    observation = next_observation
    # Exit when the episode terminates
    if terminated or truncated:
        break
"""

CUSTOM_ENVIRONMENT = r"""
import random
import string

import gem
from gem.core import Env
from gem.envs.registration import register
from gem.utils.constants import TERMINAL_STATE
from gem.utils.parsing import extract_last_boxed_answer


class ReverseStringEnv(Env):
    def __init__(self, str_len: int = 5):
        super().__init__()
        self.str_len = str_len

    def _get_instructions(self):
        return (
            "You are tasked to reverse a given string.\n"
            "You may provide your response in any manner. Only the content wrapped inside \\boxed{} will be "
            "considered as your final answer.\n"
            f"Please reverse the string: {self.gt_str}.\n"
        )

    def reset(self, seed=None):
        super().reset(seed)
        characters = string.ascii_letters + string.digits
        self.gt_str = "".join(random.choices(characters, k=self.str_len))
        return self._get_instructions(), {}

    def step(self, action):
        clean_action = extract_last_boxed_answer(action)
        if clean_action is None:
            reward = 0
        else:
            reward = float(clean_action[::-1] == self.gt_str)
        return TERMINAL_STATE, reward, True, True, {}


register("custom:ReverseString", ReverseStringEnv)
env = gem.make("custom:ReverseString", str_len=4)
observation, _ = env.reset(seed=3)
secret = observation.rpartition(": ")[2].rstrip(".\n")
print(env.step(f"\\boxed{{{secret[::-1]}}}"))
"""

VECTORIZED = r"""
import gem
from gem.wrappers.wrapper_factory import get_wrapper_fns

wrappers = get_wrapper_fns("concat_with_action,episode_tracking", tokenizer=None)
vec_env = gem.make_vec(
    ["game:GuessTheNumber-v0-easy"] * 4,
    vec_kwargs=[{"max_turns": 3}] * 4,
    wrappers=wrappers,
    async_mode=True,
    seed=7,
)
observations, infos = vec_env.reset()
for _ in range(5):
    actions = [env.sample_random_action() for env in vec_env.envs]
    observations, rewards, terminated, truncated, infos = vec_env.step(actions)
partial = vec_env.step({2: "\\boxed{5}", 0: "\\boxed{4}"})
print(len(observations), rewards.dtype, len(partial[0]), sorted(infos[0])[0])
"""

TOOL_ENVIRONMENT = r"""
import gem
from gem.tools.base_tool import BaseTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.wrappers.wrapper_factory import WRAPPER_FACTORY


class EchoTool(BaseTool):
    tool_type = "echo"

    def instruction_string(self):
        return "Write <echo>text</echo> to hear it again."

    def execute_action(self, action):
        start, end = action.find("<echo>"), action.find("</echo>")
        if start < 0 or end < 0:
            return False, True, "", ""
        return True, False, "Echo: " + action[start + 6 : end], action[: end + 7]


env = gem.make("game:GuessTheNumber-v0", max_turns=2)
wrapped_env = ToolEnvWrapper(env, tools=[EchoTool()], max_tool_uses=1)
wrapped_env = WRAPPER_FACTORY["concat_with_action"](wrapped_env)
obs, info = wrapped_env.reset()

# we ignore the obs and use a dummy action
dummy_action = "<think>Let me hear it.</think><echo>9.9 > 9.11?</echo>"
obs, reward, terminated, truncated, info = wrapped_env.step(dummy_action)
print(obs)
# continue to sample the next response given the tool results ...

wrapped_env.close()
"""


def run(code: str) -> str:
    """Return the output of a snippet in a process of its own, with every warning an error."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_quickstart_runs() -> None:
    """The README's loop lists the environments and plays one episode."""
    shown = run(QUICKSTART)
    assert "game:GuessTheNumber-v0-easy" in shown
    assert "ACT \\boxed{" in shown


def test_the_custom_environment_runs() -> None:
    """An environment written for the original registers, is made with arguments, and grades."""
    assert run(CUSTOM_ENVIRONMENT).endswith("1.0, True, True, {})\n")


def test_the_vectorized_snippet_runs() -> None:
    """make_vec takes the original's arguments, and step a dict of a subset."""
    assert run(VECTORIZED).startswith("4 float64 2 ")


def test_the_tool_snippet_runs() -> None:
    """A tool written against the original's protocol answers inside ToolEnvWrapper."""
    assert "Echo: 9.9 > 9.11?" in run(TOOL_ENVIRONMENT)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("gem.core", ["Env", "EnvWrapper"]),
        ("gem.envs.registration", ["make", "make_vec", "register"]),
        ("gem.envs.multiagent", ["AgentSelector", "MultiAgentEnv"]),
        ("gem.multiagent", ["AgentSelector", "MultiAgentEnv"]),
        ("gem.tools.base_tool", ["BaseTool"]),
        ("gem.tools.tool_env_wrapper", ["ToolEnvWrapper"]),
        ("gem.utils.constants", ["TERMINAL_STATE"]),
        ("gem.utils.parsing", ["extract_last_boxed_answer", "extract_code_from_model", "extract_last_tagged_answer"]),
        ("gem.wrappers.wrapper_factory", ["WRAPPER_FACTORY", "get_wrapper_fns"]),
        ("gem.wrappers.observation_wrapper", ["ObservationWrapper"]),
        ("gem.wrappers.episode_tracking_wrapper", ["EpisodeTrackingWrapper"]),
        ("gem.envs.game_env.sudoku", ["SudokuEnv"]),
    ],
)
def test_published_import_paths_resolve(module: str, names: list[str]) -> None:
    """Each path that trainers import from leads to something."""
    lines = [f"from {module} import {name}; assert {name} is not None" for name in names]
    assert run("\n".join(lines)) == ""


@pytest.mark.parametrize(
    ("path", "distribution"),
    [
        ("gem.envs.math_env.MathEnv", "gem-envs-math"),
        ("gem.envs.qa_env.QaEnv", "gem-envs-qa"),
        ("gem.envs.code_env.CodeEnv", "gem-envs-code"),
        ("gem.envs.reasoning_gym.ReasoningGymEnv", "gem-envs-reasoning"),
        ("gem.tools.python_code_tool.PythonCodeTool", "gem-tools"),
        ("gem.tools.search_tool.SearchTool", "gem-tools"),
        ("gem.tools.mcp_tool.MCPTool", "gem-tools"),
        ("gem.utils.sandbox.run_python", "gem-tools"),
    ],
)
def test_a_path_of_a_missing_package_names_what_to_install(path: str, distribution: str) -> None:
    """If a path's distribution is not installed, import and entry point both name the install command."""
    module, _, name = path.rpartition(".")
    gem.register("published:Moved-v0", f"{module}:{name}", replace=True)
    if find_spec(distribution.replace("-", "_")) is not None:
        assert getattr(import_module(module), name) is not None
        return
    with pytest.raises(ModuleNotFoundError, match=f"pip install {distribution}"):
        import_module(module)
    with pytest.raises(gem.GemError, match=f"pip install {distribution}"):
        gem.make("published:Moved-v0")


def test_every_id_of_the_original_games_exists() -> None:
    """All 39 registered ids of the original's games can be made."""
    names = {
        "Crosswords": 3, "FifteenPuzzle": 3, "Game2048": 4, "GuessTheNumber": 3, "Hangman": 3, "Mastermind": 3,
        "Minesweeper": 3, "Sokoban": 3, "Sudoku": 3, "TowerofHanoi": 3, "WikiGame": 2, "WordSearch": 3, "Wordle": 3,
    }  # fmt: skip
    variants = ["easy", "hard", "random", "extreme-hard"]
    made = [
        gem.make(spec.id)
        for spec in gem.all_specs("game")
        if any(spec.id == f"game:{name}-v0-{variant}" for name in names for variant in variants)
    ]
    assert len(made) == sum(names.values())
