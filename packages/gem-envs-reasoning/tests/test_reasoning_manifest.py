"""The manifest and the catalogue say what the installed library has."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import gem
from gem.errors import ArgumentError, GemError, UnknownArgumentError
from gem_envs_reasoning import ReasoningGymEnv
from gem_envs_reasoning.items import catalogue

PACKAGE = Path(__file__).parents[1]
WRITER = PACKAGE / "tools" / "write_manifest.py"


@pytest.mark.nightly
@pytest.mark.skipif(
    importlib.util.find_spec("pycosat") is None,
    reason="pycosat could not be had, and importing all of the library needs it",
)
def test_the_files_are_what_the_script_writes() -> None:
    """Every data set of the library, its configuration's names and its levels are in the files, and nothing else."""
    program = (
        "import json, runpy, sys; script = runpy.run_path(sys.argv[1]); entries = script['catalogue'](); "
        "print(json.dumps([entries, script['manifest'](entries)]))"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(WRITER)]
    shown = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    entries, manifest = json.loads(shown)
    assert catalogue() == entries
    assert (PACKAGE / "src/gem_envs_reasoning/environments.toml").read_text("utf-8") == manifest


def test_the_tables_of_the_script_name_data_sets() -> None:
    """The script's own tables hold names of data sets alone."""
    script = runpy.run_path(str(WRITER))
    for table in ("SLOW", "PAYS_FOR_GARBAGE", "SOMETIMES_UNREACHABLE"):
        assert set(script[table]) <= catalogue().keys()


def test_each_description_is_a_short_sentence_of_its_own() -> None:
    """Each data set has one, which fits into a table, says what the agent does, and describes no other data set."""
    said = runpy.run_path(str(WRITER))["descriptions"]()
    assert said.keys() == catalogue().keys()
    assert len(set(said.values())) == len(said)
    for name, sentence in said.items():
        assert re.fullmatch(r"[A-Z][^.\[\]]{10,98}\.", sentence), name
        assert not re.search(r"[Gg]enerat(es|or)|[Dd]ata ?set|https?:", sentence), name


def test_one_data_set_does_not_load_the_others() -> None:
    """An episode of one data set imports what that needs: not reasoning_gym, sympy, matplotlib or numpy."""
    program = (
        "import sys, gem; env = gem.make('rg:gcd'); env.reset(seed=1); env.step(env.reference_answer(env.row)); "
        "print(sorted({'reasoning_gym', 'sympy', 'matplotlib', 'numpy'} & sys.modules.keys()), "
        "sum(name.startswith('_gem_reasoning_gym.') for name in sys.modules), sep=';')"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    heavy, modules = shown.split(";")
    assert heavy == "[]"
    assert int(modules) < 15


def test_unknown_names_are_refused_with_the_nearest() -> None:
    """A misspelt data set or configuration key is refused with the right one."""
    with pytest.raises(ArgumentError, match="chain_sum"):
        ReasoningGymEnv("chain_sums")
    with pytest.raises(UnknownArgumentError, match="min_terms"):
        gem.make("rg:chain_sum", min_term=3)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"min_terms": -1},
        {"min_terms": "many"},
        {"max_terms": 10**9},
        {"max_terms": float("nan")},
        {"operators": ["+"] * 10**6},
        {"size": 0},
        {"size": True},
        {"seed": -1},
        {"level": 99},
        {"levels": {"num_terms": 99}},
        {"levels": {"terms": 1}},
        {"levels": [1]},
        {"level": 1, "levels": {}},
        {"datasets": ["gcd"]},
    ],
)
def test_impossible_arguments_are_gem_errors(kwargs: dict[str, object]) -> None:
    """What the library or this package cannot take is an error of gem, and never another."""
    with pytest.raises(GemError):
        gem.make("rg:chain_sum", **kwargs)


@pytest.mark.parametrize(
    "datasets",
    [
        None,
        [],
        "gcd",
        [1],
        [{}],
        [{"name": "gcd"}, {"name": "gcd"}],
        [{"name": "composite"}],
        [{"name": "gcd", "weight": 0}],
        [{"name": "gcd", "config": {"min_number": 1}}],
        [{"name": "gcd", "config": {"min_numbers": -5}}],
    ],
)
def test_impossible_composites_are_gem_errors(datasets: object) -> None:
    """A composite of nothing, of unknown parts, of itself or of refused configurations is an error of gem."""
    with pytest.raises(GemError):
        gem.make("rg:composite", datasets=datasets)
