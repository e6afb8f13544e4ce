"""Which libraries a judged program can import, in environments of Python that hold different ones."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

from gem.errors import ArgumentError, ArgumentTypeError, DatasetError
from gem_envs_code.code_env import CodeEnv
from gem_envs_code.mini import MiniEnv

SUM = [{"problem": "Print the sum.", "tests": {"inputs": ["1 2"], "outputs": ["3"]}}]
PLAIN = "```python\nprint(sum(map(int, input().split())))\n```"
# pluggy stands for NumPy: a real library that is here wherever GEM is, and quick to copy.
LIBRARY = "```python\nimport pluggy\nprint(3 if pluggy.PluginManager('x') else 0)\n```"
WITHOUT = "```python\ntry:\n    import pluggy\nexcept ImportError:\n    print(3)\n```"

JUDGE = f"""
import json
from gem_envs_code.code_env import CodeEnv
from gem.errors import ArgumentError
said = {{}}
for libraries in ((), ("pluggy",)):
    try:
        with CodeEnv(dataset={SUM!r}, libraries=libraries) as env:
            for action in {[PLAIN, LIBRARY, WITHOUT]!r}:
                env.reset(seed=0)
                _, reward, *_, info = env.step(action)
                said.setdefault(str(libraries), []).append([reward, info["failure"]])
    except ArgumentError as error:
        said[str(libraries)] = str(error)
print(json.dumps(said))
"""


def judged_in(folder: Path, *packages: str) -> dict[str, Any]:
    """Judge programs in a new virtual environment with our packages and some of this one's libraries."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    sources = [str(Path(found.origin).parents[1]) for found in map(importlib.util.find_spec, _OURS) if found]  # type: ignore[type-var, arg-type]
    (site / "ours.pth").write_text("\n".join(sources))
    for name in packages:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        for path in Path(found.origin).parents[1].glob(f"{name}*"):
            shutil.copytree(path, site / path.name)
    program = subprocess.run([folder / "bin" / "python", "-c", JUDGE], capture_output=True, text=True, check=False)
    assert program.returncode == 0, program.stderr
    said: dict[str, Any] = json.loads(program.stdout)
    return said


_OURS = ("gem", "gem_processes", "gem_rollout", "gem_questions", "gem_tools", "gem_envs_code")


def test_a_verdict_does_not_depend_on_the_trainers_own_environment(tmp_path: Path) -> None:
    """Two virtual environments, of which one has a library, say the same of every program that did not ask for it; a
    library that is asked for and missing is an error.
    """
    without, having = judged_in(tmp_path / "without"), judged_in(tmp_path / "having", "pluggy")
    assert without["()"] == having["()"] == [[1.0, None], [0.0, "runtime error"], [1.0, None]]
    assert having["('pluggy',)"] == [[1.0, None], [1.0, None], [0.0, "wrong answer"]]
    assert "'pluggy', which is not installed" in without["('pluggy',)"]


@pytest.mark.nightly
def test_libraries_are_named_in_the_question_and_bring_their_own() -> None:
    """A library comes with all that it depends on, and nothing else does."""
    with CodeEnv(dataset=SUM, libraries=["pydantic"]) as env:
        question, _ = env.reset(seed=0)
        assert "It can import the standard library and pydantic." in str(question)
        for module, reward in (("pydantic", 1.0), ("annotated_types", 1.0), ("pluggy", 0.0), ("gem", 0.0)):
            env.reset(seed=0)
            assert env.step(f"```python\nimport {module}\nprint(3)\n```")[1] == reward, module
    with CodeEnv(dataset=SUM) as env:
        assert "It can import the standard library." in str(env.reset(seed=0)[0])


@pytest.mark.parametrize(
    ("libraries", "error"),
    [("numpy", ArgumentTypeError), ([1], ArgumentError), (["os.path"], ArgumentError), (["no_such"], ArgumentError)],
)
def test_wrong_libraries_are_refused(libraries: Any, error: type[Exception]) -> None:
    """A text, something else than a name, a part of a module, and what is not installed."""
    with pytest.raises(error, match="libraries"):
        CodeEnv(dataset=SUM, libraries=libraries)


def test_the_fraction_of_tests_is_paid() -> None:
    """Every test runs and counts; only all of them together are correct."""
    rows = [{"problem": "Double it.", "tests": {"inputs": ["1", "2", "3", "4"], "outputs": ["2", "4", "6", "8"]}}]
    with CodeEnv(dataset=rows, reward="fraction") as env:
        for body, reward, failure in (
            ("print(2 * int(input()))", 1.0, None),
            ("print(4)", 0.25, "wrong answer"),
            ("n = int(input()); print(2 * n if n > 1 else 1 / 0)", 0.75, "runtime error"),
            ("print(0)", 0.0, "wrong answer"),
        ):
            env.reset(seed=0)
            _, paid, *_, info = env.step(f"```python\n{body}\n```")
            assert (paid, info["correct"], info["failure"]) == (reward, reward == 1.0, failure)
            assert info["tests_passed"] == 4 * reward
    with MiniEnv("easy", reward="fraction") as env:
        env.reset(seed=0)
        assert env.step(env.reference_answer(env.row))[1] == 1.0
    with pytest.raises(ArgumentError, match="reward must be one of 'all', 'fraction'"):
        CodeEnv(dataset=rows, reward="some")


PLUS = {
    "text": "Double a number.",
    "test_list": ["assert twice(1) == 2"],
    "test": "import pluggy\ninputs, results = [[0], [-4]], [0, -8]\n"
    "for given, result in zip(inputs, results):\n    assert twice(*given) == result",
}
"""A row of MBPP as EvalPlus publishes it, with further inputs in a program that imports a library."""


def test_tests_that_import_a_library_ask_for_it() -> None:
    """Without the argument the row is an error with the remedy, since no program could pass its tests."""
    with pytest.raises(DatasetError, match=r"import pluggy, and without libraries=\['pluggy'\] no program can pass"):
        CodeEnv(dataset=[PLUS])
    optional = {**PLUS, "test": "try:\n    import pluggy\nexcept ImportError:\n    pass\nassert twice(2) == 4"}
    assert CodeEnv(dataset=[optional]).reset(seed=0)


@pytest.mark.parametrize(("program", "paid"), [("2 * n", 1.0), ("2 * abs(n)", 0.0)])
def test_further_inputs_of_evalplus_are_tests(program: str, paid: float) -> None:
    """A program that is right on the original tests alone fails."""
    with CodeEnv(dataset=[PLUS], libraries=["pluggy"]) as env:
        env.reset(seed=0)
        assert env.step(f"```python\ndef twice(n):\n    return {program}\n```")[1] == paid
