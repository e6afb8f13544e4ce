"""Tasks with several steps: what their folders may say, how an episode goes on, and what it earns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.text import TERMINAL_STATE
from gem_terminal import TerminalEnv
from gem_terminal import task as tasks
from gem_terminal.engines import Engine
from gem_terminal.episodes.multi_step import StepResult, result_of_steps
from gem_terminal.errors import TaskError
from gem_terminal.formats import load_task
from gem_terminal.verdicts.verifier_result import VerifierResult


@pytest.fixture(scope="module")
def task_folder(tmp_path_factory: pytest.TempPathFactory, step_tasks: Any) -> Path:
    """A task of three steps."""
    return step_tasks.write_task(tmp_path_factory.mktemp("steps") / "three steps")


def test_the_solutions_of_all_steps_earn_the_mean_of_their_rewards(
    engine: Engine, task_folder: Path, step_tasks: Any
) -> None:
    """Files stay from step to step; users, variables, tests and solutions are those of each step."""
    seen: list[tuple[str, dict[str, Any]]] = []
    with TerminalEnv(path=task_folder, engine=engine, warm=0) as env:
        reward, info = step_tasks.solve(env, seen)
        assert reward == 1.0, info
        # "words" is written by the first two steps, and missing in the third.
        assert info["rewards"] == {"reward": 1.0, "words": pytest.approx((1 + 3) / 3)}
        assert [(step["name"], step["rewards"]["reward"]) for step in info["steps"]] == [
            ("begin", 1.0),
            ("go on", 1.0),
            ("end", 1.0),
        ]
        assert "The task has 3 steps" in seen[0][0]
        assert seen[0][0].startswith("Write begin into notes.")
        assert [info["step"] for _, info in seen] == ["begin", "begin", "go on", "go on", "end", "end"]
        assert seen[2][0].endswith("This step is over. Step 2 of 3:\n\nGo on in notes.")


def test_a_step_that_earns_too_little_ends_the_task(engine: Engine, task_folder: Path) -> None:
    """Doing nothing ends the task after its first step, whose reward is below its min_reward."""
    with TerminalEnv(path=task_folder, engine=engine, warm=0) as env:
        env.reset()
        observation, reward, terminated, truncated, info = env.step("<finish/>")
        assert (observation, reward, terminated, truncated) == (TERMINAL_STATE, 0.0, True, False)
        assert [step["name"] for step in info["steps"]] == ["begin"]


def test_between_two_steps_only_what_the_agent_may_know_is_left(engine: Engine, task_folder: Path) -> None:
    """Tests, rewards and the agent's log of the step before are gone; processes and files stay; the shell is new."""
    with TerminalEnv(path=task_folder, engine=engine, warm=0, max_turns=9) as env:
        env.reset()
        env.step("<bash>echo begin > notes; chmod 666 notes; X=1; (setsid sleep 4321 &)</bash>")
        env.step("<bash>mkdir -p /logs/agent; touch /logs/agent/mine</bash>")
        *_, info = env.step("<finish/>")
        assert (info["step"], info["steps"][0]["rewards"]) == ("go on", {"reward": 1.0, "words": 1.0})
        look = "id -un; pwd; echo [$X]; ls -d /tests/* /logs/verifier/* /logs/agent/*; cat ready"
        told = env.step(f"<bash>{look}</bash>")[0]
        assert told.startswith("nobody\n/srv/task\n[]\n")
        assert "mine" not in told
        assert "/tests/check.sh" not in told
        assert "reward" not in told
        assert "\nnobody\n" in told
        assert env.step("<bash>grep -l '432[1]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l</bash>")[0].startswith("1")
        # Out of turns in the second step: the third, which never began, counts as nothing.
        for _ in range(env.max_turns):
            _, reward, terminated, truncated, info = env.step("<bash>:</bash>")
            if terminated or truncated:
                break
        assert (reward, len(info["steps"])) == (pytest.approx(1 / 3), 2)


@pytest.mark.parametrize("strategy", ["mean", "final"])
def test_the_tests_of_a_step_may_have_a_fresh_container(
    engine: Engine, tmp_path: Path, strategy: str, step_tasks: Any
) -> None:
    """With strict, each step is verified in a fresh container; the rule of the rewards is the task's."""
    toml = f'multi_step_reward_strategy = "{strategy}"\n' + step_tasks.TOML.replace("min_reward = 0.5", "")
    folder = step_tasks.write_task(
        tmp_path / "strict", **{"task.toml": toml, "steps/begin/solution/solve.sh": "echo x > notes"}
    )
    folder.joinpath("steps/begin/solution/solve.sh").write_text("echo wrong > notes; chmod 666 notes\n")
    with TerminalEnv(path=folder, engine=engine, strict=True, warm=0) as env:
        reward, info = step_tasks.solve(env)
        assert [step["rewards"].get("reward") for step in info["steps"]] == [0.0, 1.0, 1.0]
        assert reward == pytest.approx(1.0 if strategy == "final" else 2 / 3)
        assert info["verdict"] == "pristine"


def test_an_episode_continues_in_the_step_that_it_had_reached(engine: Engine, task_folder: Path) -> None:
    """A copy repeats the actions and the tests before its step; a snapshot needs neither."""
    env, two = (TerminalEnv(path=task_folder, engine=engine, warm=0) for _ in range(2))
    with env, two:
        env.reset()
        env.step(
            "<bash>echo begin > notes; chmod 666 notes; (setsid sleep 300 &)</bash>"
        )  # so that no snapshot is kept
        env.step("<finish/>")
        state = json.loads(json.dumps(env.get_state()))
        with env.snapshot() as snapshot:
            for restored in (two, env):
                if restored is two:
                    two.restore(snapshot)
                else:
                    env.set_state({**state, "snapshot": None})
                assert restored.task.instruction == "Go on in notes."
                assert restored.step("<bash>id -un; cat notes</bash>")[0].startswith("nobody\nbegin\n")
                restored.step('<bash>echo "nobody given" >> notes</bash>')
                *_, info = restored.step("<finish/>")
                assert info["step"] == "end"
                assert [step["rewards"]["reward"] for step in info["steps"]] == [1.0, 1.0]


def test_a_step_that_cannot_begin_ends_the_task(engine: Engine, tmp_path: Path, step_tasks: Any) -> None:
    """A setup.sh that fails is an error of its step, which counts as 0.0; in the first step nothing can begin."""
    folder = step_tasks.write_task(tmp_path / "broken", **{"steps/go on/workdir/setup.sh": "echo no way >&2; exit 3"})
    with TerminalEnv(path=folder, engine=engine, warm=0) as env:
        reward, info = step_tasks.solve(env)
        assert reward == 0.5
        assert "exit code 3: no way" in info["verifier_error"]


def test_the_words_of_a_step_come_before_those_of_the_task(tmp_path: Path, step_tasks: Any) -> None:
    """Times and users fall back to the task's, except the time of the tests; variables and tests are added."""
    task = load_task(step_tasks.write_task(tmp_path / "task"))
    first, second, third = task.steps
    assert [(step.seconds, step.user) for step in task.steps] == [(60.0, None), (50.0, "nobody"), (60.0, None)]
    assert second.tests.environment == {"SHARED": "yes", "OWN": "too"}
    assert [source.parent.name for source in second.tests.sources] == ["task", "go on"]
    assert (first.min_reward, third.min_reward) == ({"reward": 0.5}, {})
    assert third.solution == tmp_path / "task" / "solution" / "solve.sh"
    assert task.at_step(1).tests is second.tests
    assert (task.instruction, task.solution) == (first.instruction, first.solution)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[[steps]]\nname = '../up'", "the name of a step"),
        ("[[steps]]\nname = 'begin'\n[[steps]]\nname = 'BEGIN'", "two steps"),
        ("[[steps]]\nname = 'missing'", "steps/missing is missing"),
        ("[[steps]]\nname = 'begin'\nmin_reward = 'much'", "min_reward"),
        ("multi_step_reward_strategy = 'best'\n[[steps]]\nname = 'begin'", "multi_step_reward_strategy"),
        (
            "[environment]\nnetwork_mode = 'public'\n[[steps]]\nname = 'begin'\n[[steps]]\nname = 'end'\n"
            "agent = {network_mode = 'no-network'}",
            "does not change",
        ),
    ],
)
def test_malformed_steps_are_refused(tmp_path: Path, toml: str, words: str, step_tasks: Any) -> None:
    """The message names the file and the reason."""
    folder = step_tasks.write_task(tmp_path / "task", **{"task.toml": toml})
    with pytest.raises(TaskError, match=words):
        load_task(folder)


def test_a_step_without_tests_is_refused(tmp_path: Path, step_tasks: Any) -> None:
    """Neither the step nor the task has a test.sh."""
    folder = step_tasks.write_task(tmp_path / "task")
    (folder / "tests/test.sh").unlink()
    with pytest.raises(TaskError, match=r"steps/begin/tests/test\.sh is missing"):
        load_task(folder)


_REWARDS = st.dictionaries(st.sampled_from(("reward", "words")), st.floats(-1.0, 2.0), max_size=2)


@given(st.lists(_REWARDS, min_size=1, max_size=4), st.integers(0, 3))
def test_the_mean_counts_what_is_missing_as_nothing(rewards: list[dict[str, float]], missing: int) -> None:
    """The sum over all steps of each name is the mean times the number of steps, for any rewards."""
    results = [StepResult(str(number), each) for number, each in enumerate(rewards)]
    found = result_of_steps(results, "mean", VerifierResult(rewards[-1]), missing).rewards
    assert found.keys() == {name for each in rewards for name in each}
    for name, mean in found.items():
        assert mean * (len(rewards) + missing) == pytest.approx(sum(each.get(name, 0.0) for each in rewards))


@pytest.mark.parametrize(
    ("rewards", "least", "reached"),
    [
        ({"reward": 0.5}, {"reward": 0.5}, True),
        ({"reward": 0.49}, {"reward": 0.5}, False),
        ({"other": 1.0}, {"reward": 0.5}, False),
        ({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.1}, False),
        ({}, {}, False),
    ],
)
def test_a_step_is_passed_with_each_of_its_least_rewards(
    rewards: dict[str, float], least: dict[str, float], reached: bool
) -> None:
    """A missing reward reaches nothing, and without any reward the task ends."""
    step = tasks.TaskStep("one", "Do it.", tasks.Tests((), ""))
    result = VerifierResult(rewards, error=None if rewards else "none was written")
    assert StepResult.of(step, result).reaches(least) is reached
