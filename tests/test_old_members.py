"""Members, arguments and helpers of the original that its clients use, on the environments of this project."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.errors import UnknownArgumentError
from gem.migration import MEMBERS

SUMS = [{"question": f"What is {n} plus 1?", "problem": f"${n} + 1$?", "answer": str(n + 1)} for n in range(5)]
PROGRAMS = [{"problem": "Double a number.", "tests": {"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]}}]


def old(path: str) -> Any:
    """Return the object behind a path of the original."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_every_environment_says_what_it_was_made_as() -> None:
    """The original set env_id and entry_point on each environment that make returned."""
    env: Any = gem.make("game:GuessTheNumber-v0-easy", wrappers="concat")
    assert env.env_id == "game:GuessTheNumber-v0-easy"
    assert env.entry_point.endswith(":GuessTheNumberEnv")
    env.reset(seed=1)
    env.step("\\boxed{5}")
    assert env.turn_count == 1


def test_an_environment_with_a_data_set_has_it_and_the_place_in_it() -> None:
    """The members dataset and idx are the rows and the index of the current one; seed is the constructor's."""
    env: Any = old("gem.envs.math_env.MathEnv")(dataset=SUMS, question_key="problem")
    env.reset(seed=1)
    assert env.dataset[env.idx]["answer"] == env.row["answer"]
    assert gem.make("rg:gcd", seed=7).seed == 7  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [*sorted(MEMBERS), "anything", "_private"])
def test_a_member_without_a_counterpart_is_an_attribute_error(name: str) -> None:
    """An environment that was constructed by hand has no id, and one without a data set none of its members."""

    class Bare(Env[str, str]):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
            return "", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
            return "", 0.0, True, False, {}

    assert not hasattr(Bare(), name)
    with pytest.raises(AttributeError, match=name):
        getattr(Bare(), name)


class Owner(Env[str, str]):
    """Has two of the names itself: one of the class, one of the instance."""

    dataset = "the class's"

    def __init__(self) -> None:
        self.seed = 7

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "", 0.0, True, False, {}


class Resourceful(Owner):
    """Answers for a missing name itself."""

    def __getattr__(self, name: str) -> str:
        return f"{name} of its own"


def test_an_environments_own_attributes_win() -> None:
    """Attributes of the instance, of the class and of its __getattr__ come before the original's members."""
    env, resourceful = Owner(), Resourceful()
    wrapped: Any = gem.Wrapper(gem.Wrapper(env))
    for one in (env, wrapped):
        assert (one.dataset, one.seed) == ("the class's", 7)
    assert not hasattr(wrapped, "idx")
    env.seed = 8
    assert wrapped.seed == 8
    assert (resourceful.env_id, gem.Wrapper(resourceful).idx) == ("env_id of its own", "idx of its own")


def test_the_base_class_leaves_missing_attributes_to_python() -> None:
    """A __getattr__ on Env would slow every attribute of every environment, and its file knows nothing of the past."""
    assert not hasattr(Env, "__getattr__")
    for name in MEMBERS:
        with pytest.raises(AttributeError, match=f"type object 'Env' has no attribute '{name}'"):
            getattr(Env, name)
    assert "migration" not in inspect.getsource(gem.core)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "first_import",
    [
        "import gem.core",
        "from gem.core import Env",
        "import gem; gem.Env",
        "import gem; gem.make",
        "from gem.core import EnvWrapper, ObsType, ActType",
        "import importlib, gem.core; importlib.reload(gem.core)",
        "import pickle; pickle.loads(PICKLED)",
    ],
)
def test_the_members_are_there_by_every_way_to_the_base_class(first_import: str) -> None:
    """However a process comes to gem.core, environments have the original's members, and the module its own loader."""
    code = f"PICKLED = {pickle.dumps(Env)!r}\n{first_import}\n"
    code += (
        "import gem, inspect\n"
        "env = gem.make('game:GuessTheNumber-v0-easy')\n"
        "assert env.env_id == 'game:GuessTheNumber-v0-easy' and not hasattr(env, 'dataset')\n"
        "assert isinstance(env, gem.core.Env) and gem.core.EnvWrapper is gem.Wrapper\n"
        "assert gem.core.__loader__ is gem.core.__spec__.loader\n"
        "assert 'class Env' in gem.core.__loader__.get_source('gem.core')\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("gem.envs.reasoning_gym.ReasoningGymEnv", {"name": "gcd", "use_mp": False}),
        ("gem.envs.qa_env.QaEnv", {"dataset": SUMS, "verbose": True}),
        ("gem.envs.qa_env.QaEnv", {"dataset": SUMS, "verbose": True, "use_mp": True}),
    ],
)
def test_an_argument_that_means_nothing_here_is_ignored_with_a_warning(path: str, arguments: dict[str, Any]) -> None:
    """The warning names it and what there is instead; the environment works, pickles and spawns without it."""
    with pytest.warns(UserWarning, match="gem-llm"):
        env = old(path)(**arguments)
    observation, _ = env.reset(seed=1)
    assert pickle.loads(pickle.dumps(env)).step("x")[1:] == env.step("x")[1:]
    assert env.spawn().reset(seed=1)[0] == observation


def test_make_ignores_such_an_argument_too() -> None:
    """The spec, and so every record, does without it; a misspelt argument is still refused."""
    with pytest.warns(UserWarning, match="use_mp"):
        env = gem.make("rg:gcd", use_mp=False, size=3)
    assert env.spec is not None
    assert set(env.spec.kwargs) == {"name", "size"}
    with pytest.raises(UnknownArgumentError, match="max_turns"):
        gem.make("game:GuessTheNumber-v0", max_turn=3)
    with pytest.raises(UnknownArgumentError, match="sead"):
        old("gem.envs.qa_env.QaEnv")(dataset=SUMS, sead=1)


@pytest.mark.parametrize(
    ("response", "gold", "right"),
    [("so \\boxed{3}", "3", True), ("\\boxed{3}", ["2", "3"], True), ("\\boxed{3}", 4, False), ("3", "3", False)],
)
def test_the_math_environment_grades_without_an_episode(response: str, gold: Any, right: bool) -> None:
    """ROLL's subclass calls the static check_correct of the class."""
    assert old("gem.envs.math_env.MathEnv").check_correct(response, gold) is right


def test_the_reward_functions_of_the_grader_are_there() -> None:
    """Each finds the answer in its own format and returns whether there was one, and the reward."""
    boxed, tagged = "\\boxed{3}", "<think>x</think> <answer>3</answer>"
    assert old("gem.utils.math_grader.boxed_reward_fn")(boxed, "3") == ({"formatted": True}, 1.0)
    assert old("gem.utils.math_grader.boxed_reward_fn")("3", "3") == ({"formatted": False}, 0.0)
    assert old("gem.utils.math_grader.boxed_reward_fn")(boxed, 4, incorrect_reward=-1.0)[1] == -1.0
    assert old("gem.utils.math_grader.r1_distill_qwen_math_reward_fn")(f"x</think>{boxed}", "3")[1] == 1.0
    assert old("gem.utils.math_grader.r1_distill_qwen_math_reward_fn")(boxed, "3") == ({"formatted": False}, 0.0)
    assert old("gem.utils.math_grader.answer_tag_reward_fn")(tagged, "3")[1] == 1.0
    assert old("gem.utils.math_grader.answer_tag_reward_fn")("<answer>3</answer>", "3")[0] == {"formatted": False}
    assert (
        old("gem.utils.math_grader.answer_tag_reward_fn_for_orz")("<answer>\\boxed{3}</answer>", ["2", "3"])[1] == 1.0
    )
    assert old("gem.utils.math_grader.grade")("0.5", "\\boxed{\\frac{1}{2}}")


def test_the_qa_environment_grades_without_an_episode() -> None:
    """The published examples of its check_correct hold."""
    check = old("gem.envs.qa_env.QaEnv").check_correct
    assert check("  paris ", ["Paris"])
    assert check("Berlin", ["Paris", "Berlin", "Rome"])
    assert check("42", [42, "some other answer"])
    assert not check("43", [42, "some other answer"])
    assert old("gem.utils.qa_em.em_check")("The Paris!", "paris")
    assert old("gem.utils.qa_em.normalize_answer")("The  Eiffel-Tower") == "eiffeltower"


@pytest.mark.slow
def test_a_subclass_of_the_code_environment_judges_a_program() -> None:
    """ROLL's subclass calls _check_correct with the program alone, for the tests of the episode."""
    env = old("gem.envs.code_env.CodeEnv")(dataset=PROGRAMS)
    env.reset(seed=1)
    assert env._check_correct("print(2 * int(input()))") is True
    assert env._check_correct("print(4)") is False
    env.close()


def test_the_python_tool_has_its_sandbox_type() -> None:
    """As its constructor took it."""
    assert old("gem.tools.python_code_tool.PythonCodeTool")(sandbox_type="none").sandbox_type == "none"


def test_vector_environments_are_made_from_functions() -> None:
    """Both classes take ids and functions, and the original's enumeration of autoreset modes."""
    mode = old("gem.vector.vector_env.AutoresetMode").SAME_STEP
    for path in ("gem.vector.sync_vector_env.SyncVectorEnv", "gem.vector.async_vector_env.AsyncVectorEnv"):
        with old(path)(["game:Sudoku-v0"] * 2, [lambda: gem.make("game:Sudoku-v0")] * 2, mode) as envs:
            assert isinstance(envs, old("gem.vector.vector_env.VectorEnv"))
            assert len(envs.reset(seed=1)[0]) == 2


def test_the_registry_lists_what_can_be_made() -> None:
    """ENV_REGISTRY is a mapping from ids to specs, registrations of this process included."""
    registry = old("gem.envs.registration.ENV_REGISTRY")
    assert "game:Sudoku-v0" in registry
    assert "sokoban" not in registry
    assert registry["game:Sudoku-v0"].entry_point == gem.spec("game:Sudoku-v0").entry_point
    assert len(registry) == len(list(registry)) > 50


def test_rewards_of_games_have_their_names() -> None:
    """A malformed action pays what the class says, in every game."""
    env = gem.make("game:Sudoku-v0-easy")
    env.reset(seed=1)
    assert env.step("nonsense")[1] == old("gem.utils.constants.LanguageGameReward").format_error_reward


def test_an_episode_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The helpers play single and vector environments until the end or the limit, and print each step."""
    run = old("gem.utils.debug.run_and_print_episode")
    run(gem.make("game:GuessTheNumber-v0-easy"), lambda observation: "\\boxed{3}")
    assert capsys.readouterr().out.count("observation of step") <= 4
    with gem.make_vec("game:GuessTheNumber-v0-easy", num_envs=2) as envs:
        run(envs, lambda observations: ["\\boxed{3}"] * 2, ignore_done=True, max_steps=6)
    assert capsys.readouterr().out.count("observation of step") == 6

    class Awaited:
        def __init__(self) -> None:
            self.env = gem.make("game:GuessTheNumber-v0-easy")

        async def reset(self) -> Any:
            return self.env.reset(seed=1)

        async def step(self, action: str) -> Any:
            return self.env.step(action)

    asyncio.run(old("gem.utils.debug.run_and_print_episode_async")(Awaited(), lambda observation: "nonsense"))
    assert "observation of step 1" in capsys.readouterr().out
