"""Configurations of evaluations: from TOML files, from options, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_eval.runs import EvaluationConfig, EvaluationConfigError, EvaluationEnvironment, Prices, settings_of
from gem_eval.runs.resolution import plan, requests_at_most, resolve
from gem_eval.runs.run_differences import differences
from gem_rollout.trajectory import EpisodeKey

WHOLE = """
name = "two games"
base_url = "http://localhost:8000/v1"
model = "tiny"
episodes = 12
group = 4
wrappers = ["concat_with_action"]
rewards = ["exact", { name = "numeric", label = "close", rel_tol = 0.1 }]

[sampling]
temperature = 0.5
stop = ["\\n"]

[limits]
max_turns = 9
act_timeout = 2.5

[prices]
input = 1
output = 4.5

[judge]
model = "judge"

[[environment]]
id = "game:GuessTheNumber-v0-easy"
episodes = 3
group = 1
kwargs = { max_turns = 2 }

[[environment]]
id = "game:Wordle-v0"
label = "words"
seed = 7
wrappers = []
"""


def test_a_file_has_every_setting(tmp_path: Path) -> None:
    """Each key of a TOML file arrives where Python code would set it."""
    file = tmp_path / "suite.toml"
    file.write_text(WHOLE)
    assert EvaluationConfig.from_toml(file) == EvaluationConfig(
        environments=(
            EvaluationEnvironment("game:GuessTheNumber-v0-easy", episodes=3, group=1, kwargs={"max_turns": 2}),
            EvaluationEnvironment("game:Wordle-v0", label="words", seed=7, wrappers=()),
        ),
        name="two games",
        base_url="http://localhost:8000/v1",
        model="tiny",
        episodes=12,
        group=4,
        wrappers=("concat_with_action",),
        rewards=("exact", {"name": "numeric", "label": "close", "rel_tol": 0.1}),
        sampling={"temperature": 0.5, "stop": ["\n"]},
        limits={"max_turns": 9, "act_timeout": 2.5},
        prices=Prices(1.0, 4.5),
        judge={"model": "judge"},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("episode = 3", "no key 'episode'; did you mean 'episodes'"),
        ("episodes = '3'", r"episodes: .* valid integer \(got '3'\)"),
        ("episodes = 0", "episodes must be at least 1"),
        ("[[environment]]\nid = 3", r"environment\[0\].id: .* valid string"),
        ("[[environment]]\nid = 'a:B'\nseeds = 3", r"no key 'environment\[0\].seeds'; did you mean 'seed'"),
        ("group = 8\n[[environment]]\nid = 'a:B'", "a:B: 100 episodes .* groups of 8; use 96 or 104 episodes"),
        ("group = 8\nepisodes = 3\n[[environment]]\nid = 'a:B'", "groups of 8; use 8 episodes"),
        ("environment = ['a:B', 'a:B']", "'a:B' occurs twice; give each its own 'label'"),
        ("agent = 'random'\nmodel = 'm'", "exclude each other"),
        ("agent = 'random'\nharness = 'codex'", "exclude each other"),
        ("harness_options = { calls = 3 }", "calls are options of a harness; name one"),
        ("[prices]\nin = 3", "no key 'prices.in'"),
        ("[prices]\ninput = -3", "prices.input must be at least 0"),
        ("[limits]\nmax_turns = -1", "limits.max_turns must be at least 0"),
        ("tools = 'magic'", "tools"),
        ("seed = -1\nenvironment = ['a:B']", "seed must be a non-negative int"),
        ("concurrency = 0", "concurrency must be at least 1"),
        ("x = 1979-05-27", "not JSON serializable"),
        ("x = ", "is not TOML"),
    ],
)
def test_mistakes_are_named_with_the_remedy(tmp_path: Path, text: str, message: str) -> None:
    """Unknown keys, wrong types and contradictions are refused with the key and the file's name."""
    file = tmp_path / "suite.toml"
    file.write_text(text)
    with pytest.raises(EvaluationConfigError, match=message) as refused:
        EvaluationConfig.from_toml(file)
    assert str(refused.value).startswith(str(file))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text are refused with the reason."""
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name in ("missing.toml", ".", "bytes.toml"):
        with pytest.raises(EvaluationConfigError, match=r"cannot be read|is not TOML"):
            EvaluationConfig.from_toml(tmp_path / name)


@given(episodes=st.integers(1, 500), group=st.integers(1, 40))
def test_every_number_that_is_recommended_can_be_played(episodes: int, group: int) -> None:
    """Episodes that cannot be split into groups are refused, and the numbers in the message are accepted."""
    environments = (EvaluationEnvironment("a:B"),)
    if episodes % group == 0:
        EvaluationConfig(environments, episodes=episodes, group=group)
        return
    with pytest.raises(EvaluationConfigError) as refused:
        EvaluationConfig(environments, episodes=episodes, group=group)
    advice = str(refused.value).rpartition("use ")[2].removesuffix(" episodes")
    for number in advice.split(" or "):
        EvaluationConfig(environments, episodes=int(number), group=group)


def test_settings_of_the_command_line_hold_for_every_environment() -> None:
    """A setting that replaces that of the evaluation replaces those of its environments too."""
    config = EvaluationConfig((EvaluationEnvironment("a:B", episodes=4, group=2), EvaluationEnvironment("a:C")))
    changed = config.with_settings(episodes=10, group=5)
    assert [changed.setting(item, "episodes") for item in changed.environments] == [10, 10]
    assert [changed.setting(item, "group") for item in changed.environments] == [5, 5]


def test_a_run_gives_back_its_configuration(tmp_path: Path) -> None:
    """What a run records is enough to resolve the same run again, without a difference."""
    file = tmp_path / "suite.toml"
    file.write_text(WHOLE)
    config = EvaluationConfig.from_toml(file)
    rewards = [{"name": "exact"}]
    run = resolve(config, served_model="tiny", rewards=rewards)
    again = resolve(settings_of(run), served_model="tiny", rewards=rewards)
    assert differences(run, again) == []
    assert list(plan(again.environments)) == list(plan(run.environments))


@pytest.mark.parametrize(
    ("setting", "difference"),
    [
        ({"sampling": {"temperature": 0.6, "stop": ["\n"]}}, "sampling temperature was 0.5 and is 0.6"),
        ({"sampling": {"temperature": 0.5}}, r"sampling stop was \['\\n'\] and is not set"),
        ({"limits": {"max_turns": 9}}, "limits act_timeout was 2.5 and is not set"),
        ({"system": "Be brief."}, "system was not set and is 'Be brief.'"),
        ({"base_url": "http://elsewhere:8000/v1"}, "base_url was 'http://localhost:8000/v1' and is"),
        ({"model": "other"}, "model was 'tiny' and is 'other'"),
        ({"tools": "native"}, "tools was not set and is 'native'"),
        ({"judge": {"model": "wise"}}, "judge model was 'judge' and is 'wise'"),
        ({"group": 2, "episodes": 6}, "words: group was 4 and is 2"),
        ({"seed": 1}, "words: seed was 7 and is 1"),
        ({"wrappers": ("messages",)}, r"words: wrappers was not set and is \('messages',\)"),
    ],
)
def test_what_can_change_an_episode_is_a_difference(tmp_path: Path, setting: dict[str, Any], difference: str) -> None:
    """A changed setting is named with both values."""
    file = tmp_path / "suite.toml"
    file.write_text(WHOLE)
    config = EvaluationConfig.from_toml(file)
    found = differences(resolve(config), resolve(config.with_settings(**setting)))
    assert [text for text in found if re.search(difference, text)], found


def test_what_changes_no_episode_is_no_difference(tmp_path: Path) -> None:
    """A resumed run may have another title, concurrency, number of retries, price and tracker."""
    file = tmp_path / "suite.toml"
    file.write_text(WHOLE)
    config = EvaluationConfig.from_toml(file)
    changed = config.with_settings(name="x", concurrency=3, retries=9, prices=None, track=("jsonl",), mode="sync")
    assert differences(resolve(config), resolve(changed)) == []


def test_the_plan_takes_environments_in_turn() -> None:
    """Groups of each environment are played side by side, so that an interrupted run has some of everything."""
    config = EvaluationConfig(
        (
            EvaluationEnvironment("game:Wordle-v0", episodes=4, group=2, seed=5),
            EvaluationEnvironment("game:Hangman-v0", label="h", episodes=2),
        ),
        agent="random",
    )
    assert [request.key for request in plan(resolve(config).environments)] == [
        EpisodeKey("game:Wordle-v0", 5, 0),
        EpisodeKey("h", 0, 0),
        EpisodeKey("game:Wordle-v0", 5, 1),
        EpisodeKey("h", 1, 0),
        EpisodeKey("game:Wordle-v0", 6, 0),
        EpisodeKey("game:Wordle-v0", 6, 1),
    ]


def test_requests_are_estimated_where_something_bounds_them() -> None:
    """The smallest of the declared turns and the limit counts; without either the number is unknown."""
    config = EvaluationConfig(
        (
            EvaluationEnvironment("game:GuessTheNumber-v0-easy"),
            EvaluationEnvironment("math:Arithmetic-v0"),
            EvaluationEnvironment("game:Game2048-v0", label="bounded", kwargs={"max_turns": 7}),
        ),
        agent="random",
        episodes=10,
    )
    run = resolve(config)
    assert [requests_at_most(item, run) for item in run.environments] == [40, 10, 70]
    run = resolve(config.with_settings(limits={"max_turns": 2}))
    assert [requests_at_most(item, run) for item in run.environments] == [20, 10, 20]


def test_credentials_are_in_no_record() -> None:
    """Keys in addresses, in the arguments of clients and judges, and in the environment stay out of run.json."""
    config = EvaluationConfig(
        (EvaluationEnvironment("game:Wordle-v0"),),
        base_url="https://user:s3cret@host/v1?key=s3cret",
        judge={"base_url": "https://user:s3cret@host/v1", "api_key": "s3cret"},
        client={"headers": {"Authorization": "s3cret"}, "timeout": 3.0},
        api_key_env="MY_KEY",
    )
    text = resolve(config).to_json()
    assert "s3cret" not in text
    assert '"MY_KEY"' in text
    assert '"timeout": 3.0' in text
