"""Every hook for plugins is documented by its exact signature, and does what the page says."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import gem
import gem.rewards
from gem.errors import GemError
from gem.plugins import Hooks

if TYPE_CHECKING:
    from conftest import PluginSite

PAGE = (Path(__file__).parents[1] / "docs" / "hooks.md").read_text(encoding="utf-8")
HOOKS = [name for name in vars(Hooks) if name.startswith("gem_")]

PLUGIN = """
import click
import gem
from gem.plugins import hookimpl
from gem.rewards import GoldReading, GradeResult, Reward, Score
from gem.vector.sync import SyncVectorEnv

class Loud(gem.Wrapper):
    def reset(self, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        return observation.upper(), info

class Backwards(SyncVectorEnv):
    pass

class Echo:
    def __init__(self, url, model=None):
        self.model = model or url

    async def chat(self, messages, **_):
        return messages[-1]["content"]

class Brevity(Reward):
    def score(self, trajectory):
        return Score(1.0 / max(1, len(trajectory)))

class Parity:
    def read(self, gold, question=None):
        return GoldReading("even" if gold % 2 == 0 else "odd", "parity", True)

    def grade(self, answer, gold, question=None):
        if not isinstance(answer, int):
            return GradeResult("unreadable", "type")
        return GradeResult("same" if answer % 2 == gold % 2 else "different", "parity")

class Notes:
    def __init__(self, folder):
        self.file = (folder / "notes.txt").open("w")

    def episode(self, trajectory):
        print("episode", trajectory.seed, file=self.file)

    def summary(self, figures):
        print("summary", figures, file=self.file)

    def close(self):
        print("close", file=self.file)
        self.file.close()

def parrots(client, sampling, argument=None, *, loud=False):
    class Parrot(gem.Policy):
        def act(self, observation, info):
            return f"{argument} of {client.model}" + "!" * loud

    return lambda env: Parrot()

def notes_package(source, request):
    env_id = f"{request['namespace']}:Notes-v0"
    module = f"src/{request['import_name']}/notes.py"
    return {
        "environments": [{"id": env_id, "variants": [], "row": f"{source} | {request['tasks']}"}],
        "files": {module: "import gem\\n"},
        "manifest": "",
        "dependencies": ["notes>=1"],
        "about": ["Made from notes."],
        "changes": [],
        "summary": ["one line"],
    }

@click.command("greet")
def greet():
    click.echo("hello")

"""


def install(site: PluginSite, hook: str, value: str) -> None:
    """Install a distribution whose plugin implements one hook."""
    code = f"{PLUGIN}@hookimpl\ndef {hook}():\n    return {value}\n"
    site.add("a-plugin", "[gem.plugins]\na = a_plugin\n", {"a_plugin.py": code})


@pytest.mark.parametrize("hook", HOOKS)
def test_the_page_has_every_hook_by_its_signature(hook: str) -> None:
    """The heading is the hook's signature as the code has it."""
    signature = inspect.signature(getattr(Hooks, hook))
    shown = signature.replace(parameters=list(signature.parameters.values())[1:])
    heading = f"## `{hook}{shown}`".replace("'", "")  # annotations are strings
    assert heading in PAGE.splitlines()


def test_the_page_has_no_other_hooks() -> None:
    """A hook that was removed has left the page, too."""
    assert [line for line in PAGE.splitlines() if line.startswith("## `")] == [
        line for line in PAGE.splitlines() if any(line.startswith(f"## `{hook}(") for hook in HOOKS)
    ]


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_test(hook: str) -> None:
    """The test is in this file and bears the hook's name."""
    assert callable(globals()[f"test_{hook}"])


def test_gem_wrappers(site: PluginSite) -> None:
    """A plugin's wrapper is applied by its name, alone or after a built-in one."""
    install(site, "gem_wrappers", "{'loud': 'a_plugin:Loud'}")
    site.add_thing("my-things", "my_things", "things")
    assert gem.make("things:Thing-v0", wrappers="loud").reset(seed=1)[0] == "SIZE 1"
    env: Any = gem.make("things:Thing-v0", wrappers="episode_tracking,loud")
    assert env.reset(seed=1)[0] == "SIZE 1"


@pytest.mark.parametrize(("name", "arguments"), [("greet", ["greet"]), ("terminal greet", ["terminal", "greet"])])
def test_gem_commands(site: PluginSite, name: str, arguments: list[str]) -> None:
    """A plugin's command runs as ``gem NAME`` and stands in the help; two words join the group of gem-terminal."""
    from gem.cli.main import cli

    install(site, "gem_commands", f"{{{name!r}: 'a_plugin:greet'}}")
    assert CliRunner().invoke(cli, arguments).output == "hello\n"
    assert "greet" in CliRunner().invoke(cli, [*arguments[:-1], "--help"]).output


def test_gem_vector_backends(site: PluginSite) -> None:
    """A plugin's mode is what make_vec returns for its name."""
    install(site, "gem_vector_backends", "{'backwards': 'a_plugin:Backwards'}")
    site.add_thing("my-things", "my_things", "things")
    with gem.make_vec("things:Thing-v0", num_envs=2, mode="backwards") as envs:
        assert type(envs).__name__ == "Backwards"
        assert envs.reset()[0] == ["size 1", "size 1"]


def test_gem_model_clients(site: PluginSite) -> None:
    """A plugin's client is what open_client returns for its scheme."""
    from gem_eval.clients import open_client

    install(site, "gem_model_clients", "{'echo': 'a_plugin:Echo'}")
    assert open_client("echo:there").model == "echo:there"
    assert open_client("echo:there", "parrot").model == "parrot"


def test_gem_harnesses(site: PluginSite, tmp_path: Path) -> None:
    """A plugin's harness plays under ``gem eval --harness``, with what stands behind its name, and its options."""
    from gem_eval.clients import ScriptedClient
    from gem_eval.runs import evaluate_sync

    install(site, "gem_harnesses", "{'parrot': 'a_plugin:parrots'}")
    site.add_thing("my-things", "my_things", "things")
    config = {"environment": ["things:Thing-v0"], "episodes": 1, "harness": "parrot:word"}
    folder = evaluate_sync(
        {**config, "harness_options": {"loud": True}}, client=ScriptedClient([]), out=tmp_path / "run"
    )
    assert folder.config.agent == "parrot:word with scripted"
    (row,) = folder.rows()
    assert folder.episode(row).transitions[0].action == "word of scripted!"


def test_the_harness_of_the_page_can_be_made() -> None:
    """The page's own harness is a maker of policies, which starts its program for an environment."""
    code = PAGE.partition("def my_agent(")[2].partition("```")[0]
    namespace: dict[str, Any] = {}
    exec(f"def my_agent({code}", namespace)
    maker = namespace["my_agent"](None, None, seconds=3.0)
    assert maker.harness.command[0] == "my-agent"


def test_gem_run_trackers(site: PluginSite, tmp_path: Path) -> None:
    """A plugin's tracker gets the run folder, each episode and the figures at the end."""
    from gem_eval.trackers import RunTracking

    install(site, "gem_run_trackers", "{'notes': 'a_plugin:Notes'}")
    with RunTracking(["notes"], tmp_path) as tracking:
        tracking.episode(gem.Trajectory(None, 7))
        tracking.summary({"success": 0.5})
    assert (tmp_path / "notes.txt").read_text().splitlines() == ["episode 7", "summary {'success': 0.5}", "close"]


def test_gem_scaffold_sources(site: PluginSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin's source makes the files of a new package, by a scheme or by the suffix of a file."""
    from gem_testing.cli.new import new_command

    install(site, "gem_scaffold_sources", "{'notes': 'a_plugin:notes_package', '.notes': 'a_plugin:notes_package'}")
    monkeypatch.chdir(tmp_path)
    Path("my.NOTES").touch()
    for name, source, seen in (("by-scheme", "notes:some:where", "some:where"), ("by-suffix", "my.NOTES", "my.NOTES")):
        result = CliRunner().invoke(new_command, [name, "--from", source, "--tasks", "7"], catch_exceptions=False)
        assert "one line" in result.output
        assert f"| `{name}:Notes-v0` |  | {seen} | 7 |\n\nMade from notes.\n" in Path(name, "README.md").read_text()
        assert '"notes>=1"]' in Path(name, "pyproject.toml").read_text()
        assert Path(name, "src", name.replace("-", "_"), "notes.py").read_text() == "import gem\n"


def test_gem_rewards(site: PluginSite) -> None:
    """A plugin's reward is what make_reward returns for its name."""
    install(site, "gem_rewards", "{'brevity': 'a_plugin:Brevity'}")
    score = gem.rewards.make_reward("brevity").score(gem.Trajectory(None, 0))
    assert isinstance(score, gem.rewards.Score)
    assert score.value == 1.0


def test_gem_graders(site: PluginSite) -> None:
    """A plugin's grader is what make_grader returns for its name."""
    install(site, "gem_graders", "{'parity': 'a_plugin:Parity'}")
    grader = gem.rewards.make_grader("parity")
    assert "parity" in gem.rewards.graders()
    assert grader.read(3).text == "odd"
    assert [grader.grade(answer, 3).verdict for answer in (5, 4, "5")] == ["same", "different", "unreadable"]
    assert grader.grade(5, 3).correct
    assert not grader.grade("5", 3).readable


def test_a_grader_without_the_methods_is_refused(site: PluginSite) -> None:
    """What a plugin offers as a grader must have the protocol's two methods, and the message says so."""
    install(site, "gem_graders", "{'empty': dict}")
    with pytest.raises(GemError, match=r"'empty' is a dict, which lacks the methods read and grade"):
        gem.rewards.make_grader("empty")
