"""``gem eval``: options, output, exit codes, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gem.errors import GemError, UnknownEnvironmentError
from gem_eval.cli.eval import eval_command
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.runs import RunFolder

GUESS = "game:GuessTheNumber-v0-easy"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def run(*arguments: str, code: int = 0) -> Result:
    """Run the command; errors of ours are raised."""
    result = CliRunner().invoke(eval_command, arguments)
    if isinstance(result.exception, GemError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def test_the_first_try_needs_no_configuration(tmp_path: Path) -> None:
    """One id and an agent print a table and leave a folder below ``runs``, which the output names."""
    result = run(GUESS, "--agent", "reference", "-n", "20")
    assert "success" in result.output
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name in result.output
    assert folder.name.endswith("game-GuessTheNumber-v0-easy-reference")
    assert len(RunFolder(folder).rows()) == 20


def test_a_misspelt_id_is_found_before_a_server_is_asked() -> None:
    """The message has the nearest id, although nothing listens at the address."""
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'game:Sudoku-v0-easy'"):
        run("game:Sudoku-v0-esay", "--base-url", "http://127.0.0.1:9")


def test_every_option_arrives(tmp_path: Path) -> None:
    """Options land in run.json under the names of a configuration file, and in the requests."""
    (tmp_path / "system.txt").write_text("Be brief.")
    requests: list[dict[str, Any]] = []

    def answer(request: Any) -> str:
        requests.append(request.body)
        return "\\boxed{5}"

    with FakeModelThread(FakeModel(answer, model="tiny")) as server:
        options = (
            *("-u", server.url, "-m", "tiny", "-n", "4", "-g", "2", "--seed", "3", "-c", "2", "--out", "r"),
            *("--system", "@system.txt", "--temperature", "0.5", "--top-p", "0.9", "--max-tokens", "50"),
            *("--stop", "END", "--stop", "X", "--sampling-seed", "1", "--logprobs", "2", "--sampling", "top_k=20"),
            *("--max-turns", "2", "--max-episode-tokens", "500", "--max-seconds", "60", "--act-timeout", "30"),
            *(
                "--step-timeout",
                "9",
                "--retries",
                "2",
                "--reward",
                "exact",
                "--price-input",
                "1",
                "--arg",
                "max_turns=3",
            ),
            *("--price-output", "2", "--name", "all options", "--wrappers", "concat_chat_on_reset, messages"),
        )
        run(GUESS, *[option if option != "concat_chat_on_reset, messages" else "messages" for option in options])
    config = RunFolder("r").config
    sent = requests[-1]
    assert {name: sent[name] for name in ("temperature", "top_p", "stop", "top_k", "logprobs", "top_logprobs")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END", "X"],
        "top_k": 20,
        "logprobs": True,
        "top_logprobs": 2,
    }
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert config.sampling["seed"] == 1
    assert config.limits == {
        "max_turns": 2,
        "max_tokens": 500,
        "max_seconds": 60.0,
        "act_timeout": 30.0,
        "step_timeout": 9.0,
    }
    (environment,) = config.environments
    assert (environment.episodes, environment.group, environment.seed) == (4, 2, 3)
    assert environment.kwargs == {"max_turns": 3}
    assert (config.name, config.system, config.retries) == ("all options", "Be brief.", 2)
    assert config.prices is not None
    assert all(row.cost for row in RunFolder("r").rows())


def test_a_suite_is_a_file_and_options_override_it(tmp_path: Path) -> None:
    """Environments come from the file; an id on the command line picks one of them, with its own settings."""
    (tmp_path / "suite.toml").write_text(
        f'agent = "random"\nepisodes = 6\n[[environment]]\nid = "{GUESS}"\nkwargs = {{ max_turns = 1 }}\n'
        '[[environment]]\nid = "game:Hangman-v0-easy"\nepisodes = 2\n'
    )
    run("--suite", "suite.toml", "--out", "all")
    assert len(RunFolder("all").rows()) == 8
    run("--config", "suite.toml", GUESS, "--agent", "null", "-n", "3", "--out", "one")
    one = RunFolder("one")
    assert [row.turns for row in one.rows()] == [1, 1, 1]
    assert one.config.agent == "null"


def plays(*options: str) -> str:
    """Return what a dry run says of the player."""
    output = " ".join(run(GUESS, *options, "--dry-run").output.split())
    return output.partition("agent: ")[2].partition(" Nothing")[0]


def test_a_class_keeps_the_model_that_a_file_names() -> None:
    """File and command line may each name one of class and model; a policy by name gives way to the other, or plays."""
    Path("driving.py").write_text("class Driver:\n    def __init__(self, client, sampling): ...\n")
    server = "http://127.0.0.1:9/v1"
    Path("model.toml").write_text(f'model = "m"\nbase_url = "{server}"\n')
    Path("class.toml").write_text('agent = "driving:Driver"\n')
    Path("policy.toml").write_text('agent = "random"\n')
    driven = f"driving:Driver at {server}"
    assert plays("--config", "model.toml", "--agent", "driving:Driver") == driven
    assert plays("--config", "class.toml", "--base-url", server, "--model", "m") == driven
    assert plays("--config", "model.toml", "--agent", "random") == "random"
    assert plays("--config", "model.toml", "--agent", "driving:Driver", "--base-url", "none") == "driving:Driver"
    assert plays("--config", "policy.toml", "--base-url", server) == f"model at {server}"


def test_a_class_that_takes_no_model_is_not_played_as_if_it_did() -> None:
    """A record would name a model that has answered nothing."""
    Path("lonely.py").write_text("class Agent:\n    def act(self, observation, info):\n        return '\\\\boxed{5}'\n")
    with FakeModelThread(FakeModel("constant:\\boxed{5}")) as server:
        Path("model.toml").write_text(f'base_url = "{server.url}"\n')
        options = (GUESS, "--config", "model.toml", "--agent", "lonely:Agent", "-n", "2", "--out", "r")
        with pytest.raises(GemError, match=r"'lonely:Agent' takes no model.*--base-url none"):
            run(*options)
        run(*options, "--base-url", "none")
    assert RunFolder("r").config.base_url is None


def test_a_dry_run_plays_nothing(tmp_path: Path) -> None:
    """The plan shows episodes and an upper bound of requests; no folder is made and no server is asked."""
    result = run(GUESS, "math:Arithmetic-v0", "-u", "http://127.0.0.1:9", "-n", "40", "-g", "4", "--dry-run")
    assert "160" in result.output  # 40 episodes of at most 4 turns
    assert "Nothing was played" in result.output
    record = json.loads(run(GUESS, "--agent", "random", "-n", "40", "--dry-run", "--json").output)
    assert record["requests_at_most_in_all"] == 160
    assert list(tmp_path.iterdir()) == []


def test_json_has_the_figures_and_the_folder() -> None:
    """``--json`` prints one object with the folder, the summary and the failures."""
    record = json.loads(run(GUESS, "--agent", "reference", "-n", "8", "--json").stdout)
    assert Path(record["path"], "run.json").exists()
    assert record["summary"]["environments"][0]["success"]["value"] == 1.0
    assert record["interrupted"] is False
    assert record["failures"] == {}


def test_the_same_folder_twice_says_to_resume() -> None:
    """A folder with a run is not touched again without --resume, which then has nothing left to do."""
    run(GUESS, "--agent", "reference", "-n", "4", "--out", "r")
    with pytest.raises(GemError, match="gem eval --resume r"):
        run(GUESS, "--agent", "reference", "-n", "4", "--out", "r")
    run("--resume", "r")
    run(GUESS, "--resume", "r", "-n", "4", "--agent", "reference")
    assert len(RunFolder("r").rows(attempts=True)) == 4
    assert "leave out --out" in run("--resume", "r", "--out", "s", code=2).output


def test_more_episodes_need_a_word() -> None:
    """Another number of episodes is a change, which --allow-changes accepts and the run records."""
    run(GUESS, "--agent", "reference", "-n", "4", "--out", "r")
    with pytest.raises(GemError, match="episodes was 4 and is 6"):
        run("--resume", "r", "-n", "6")
    run("--resume", "r", "-n", "6", "--allow-changes")
    assert len(RunFolder("r").rows()) == 6


def test_exit_codes_tell_partial_from_total_failure() -> None:
    """Some failed episodes are a warning; if every one failed, the exit code is 1 and the errors are in words."""
    with FakeModelThread(FakeModel("constant:\\boxed{5}", faults=["error-nested:0.1"], seed=3)) as server:
        config = ("-u", server.url, "-n", "30", "--retries", "0", "--out")
        Path("fast.toml").write_text("[client]\nretries = 0\n")
        result = run(GUESS, "--config", "fast.toml", *config, "some")
    assert "episodes failed" in result.stderr
    assert "endpoint/server_error" in result.stderr
    assert "--resume some" in result.stderr
    with FakeModelThread(FakeModel("echo", faults=["error-nested"])) as server:
        result = run(GUESS, "--config", "fast.toml", "-u", server.url, "-n", "6", "--out", "all", code=1)
    assert "every episode failed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arg", "x"), "must look like NAME=VALUE"),
        (("--system", "@missing.txt"), "missing.txt cannot be read"),
        (("--episodes", "0"), "0 is not in the range"),
        (("--resume", "missing"), "does not exist"),
    ],
)
def test_malformed_options_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    """Options that cannot be read are refused before anything starts."""
    assert message in run(GUESS, *arguments, code=2).output


def test_a_key_is_sent_and_never_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server gets the key of the named variable; no file of the run and no output holds it."""
    key = "sk-very-secret-key"
    monkeypatch.setenv("OTHER_KEY", key)
    with FakeModelThread(FakeModel("constant:\\boxed{5}", api_key=key)) as server:
        result = run(GUESS, "-u", server.url, "--api-key-env", "OTHER_KEY", "-n", "2", "--out", "r")
        monkeypatch.setenv("OTHER_KEY", "sk-wrong-secret-key")
        refused = run(GUESS, "-u", server.url, "--api-key-env", "OTHER_KEY", "-n", "2", "--out", "s", code=1)
    assert "endpoint/authentication" in refused.stderr
    texts = [file.read_text() for folder in ("r", "s") for file in Path(folder).iterdir()]
    assert not [text for text in (*texts, result.output, refused.output) if "secret" in text]


def test_hostile_text_of_a_model_reaches_no_terminal() -> None:
    """Escape sequences and halves of surrogate pairs in a model's name and answers change nothing but the record."""
    hostile = "\x1b]0;title\x07\x9b31m\u202e"
    with FakeModelThread(FakeModel(f"constant:{hostile}", model=hostile)) as server:
        result = run(GUESS, "-u", server.url, "-n", "2", "--out", "r", "--name", hostile)
        as_json = run("--resume", "r", "--json")
    for text in (result.output, as_json.output):
        assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert RunFolder("r").config.model == hostile
