"""TextWorld and Jericho in a process of their own; by night with the published packages in a Python of their own."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, StateError
from gem_bridges.errors import BridgeError

PACKAGES = ("textworld==1.7.0", "jericho==3.3.1")


def is_running(process: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    """Also where the parent is killed: the script's own watch ends it, though a pipe is still open."""
    script = f"""
        import os, sys
        from pathlib import Path
        import gem_bridges.fiction
        from gem_processes import LineWorker
        path = Path(gem_bridges.fiction.__file__).with_name("worker.py")
        server = Path(gem_bridges.__file__).with_name("line_server.py")
        one = LineWorker([sys.executable, str(server), str(2**32), str(path)], 60.0, 10_000)
        try:
            one.request({{"op": "step", "game": 0, "commands": False}})
        except Exception as error:
            print(one._process.pid, "refused" if "KeyError" in str(error) else error, flush=True)
        os.kill(os.getpid(), {int(signal.SIGKILL)})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    process, _, rest = done.stdout.partition(" ")
    assert rest == "refused\n"
    while is_running(int(process)):
        pass


def test_what_is_no_game_is_refused(tmp_path: Path) -> None:
    """Before a process is started; a missing library with the advice to name another Python."""
    with pytest.raises(ArgumentError, match="challenge must be one of coin_collector, simple, treasure_hunter"):
        gem.make("textworld:hunting-1")
    for name in ("treasure_hunter-31", "treasure_hunter-0", "treasure_hunter", "coin_collector-x", "simple-1"):
        with pytest.raises(ArgumentError, match="has the levels"):
            gem.make(f"textworld:{name}")
    with pytest.raises(ArgumentError, match="there is no game file"):
        gem.make(f"jericho:{tmp_path}/zork1.z5")
    with pytest.raises(ArgumentError, match="there is no game file"):
        gem.make(f"textworld:{tmp_path}/game.z8")
    env = gem.make("textworld:simple-dense", python=str(tmp_path / "python"))
    with env, pytest.raises(BridgeError, match="cannot be started"):
        env.reset()
    story = tmp_path / "story.z5"
    story.write_bytes(b"\x05")
    with gem.make(f"jericho:{story}") as env:
        try:
            import jericho  # noqa: F401
        except ModuleNotFoundError:
            with pytest.raises(BridgeError, match="No module named 'jericho'; install the library there"):
                env.reset()


def test_an_id_is_resolved_without_the_libraries() -> None:
    """And the reference policy is named."""
    script = (
        "import sys, gem\nspec = gem.spec('textworld:treasure_hunter-3')\n"
        "print(spec.kwargs, spec.reference_policy, {'textworld', 'jericho'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "{'challenge': 'treasure_hunter', 'level': '3'} gem_bridges.fiction.env:TextWorldPlanPolicy set()\n"
    )


@pytest.fixture(scope="module")
def python() -> Iterator[str]:
    """A Python with both libraries; TextWorld's compiler fails below a path with a letter that is not ASCII."""
    with TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder, "bin", "python")
        pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
        subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "-p", sys.executable, folder], check=True)
        subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(path), *PACKAGES], check=True)
        yield str(path)


@pytest.fixture(scope="module")
def settings(python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Arguments: that Python, and a folder in which generated games are kept."""
    return {"python": python, "folder": str(tmp_path_factory.mktemp("games ä")), "games": 2}


@pytest.mark.nightly
@pytest.mark.timeout(900)
class TestRealLibraries:
    """With the published packages."""

    @pytest.mark.parametrize("name", ["treasure_hunter-1", "treasure_hunter-12", "coin_collector-4", "simple-dense"])
    def test_textworlds_plan_wins(self, name: str, settings: dict[str, Any]) -> None:
        """With rewards that add up to 1; the do-nothing policy gets none of them."""
        with gem.make(f"textworld:{name}", **settings) as env:
            env.reset(seed=1)
            total, over = 0.0, False
            while not over:
                _, reward, terminated, truncated, info = env.step(f"I think \\boxed{{{env.unwrapped.plan[0]}}}")
                total, over = total + reward, terminated or truncated
                assert info["action_status"] == "legal"
            assert (total, info["success"], truncated) == (pytest.approx(1.0), True, False)
            env.reset(seed=1)
            assert [env.step("wait")[1] for _ in range(3)] == [0.0] * 3

    def test_an_episode_is_textworlds(self, settings: dict[str, Any]) -> None:
        """Texts, scores and commands equal those that the library gives by itself for the same file."""
        with gem.make("textworld:simple-dense", **settings) as env:
            observation, _ = env.reset(seed=5)
            state = env.get_state()
            game = state["episode_seed"] % 2
            commands = ["look", "inventory", "dance", env.unwrapped.plan[0], env.unwrapped.plan[-1]]
            script = (
                "import json, sys, textworld\n"
                "env = textworld.start(sys.argv[1], textworld.EnvInfos(admissible_commands=True, score=True))\n"
                "states = [env.reset()] + [env.step(command)[0] for command in sys.argv[2:]]\n"
                "print(json.dumps([[s.feedback, s['admissible_commands'], s['score']] for s in states]))"
            )
            path = next(Path(settings["folder"]).glob(f"simple-*-{game}.z8"))
            line = [settings["python"], "-c", script, str(path), *commands]
            done = subprocess.run(line, capture_output=True, text=True, check=True)
            theirs = json.loads(done.stdout.splitlines()[-1])
            for command, (text, known, _) in zip([*commands, ""], theirs, strict=True):
                shown, _, listed = observation.partition("\n\nCommands: ")
                assert "".join(shown.split()) in "".join(text.split())
                assert listed.split(", ") == known
                observation, _, _, _, info = env.step(command or "look")
                turn = info["turn"]
                assert turn >= len(theirs) or info["score"] == theirs[turn][2]

    def test_states_and_pickles_play_the_episode_again(self, settings: dict[str, Any]) -> None:
        """In other processes; all go on alike."""
        with (
            gem.make("textworld:treasure_hunter-12", **settings) as env,
            gem.make("textworld:treasure_hunter-12", **settings) as twin,
        ):
            env.reset(seed=3)
            for _ in range(4):
                env.step(env.sample_random_action())
            twin.set_state(json.loads(json.dumps(env.get_state())))
            with pickle.loads(pickle.dumps(env)) as copy:
                for _ in range(6):
                    actions = [one.sample_random_action() for one in (env, twin, copy)]
                    assert actions == actions[:1] * 3
                    results = [one.step(actions[0]) for one in (env, twin, copy)]
                    assert results == results[:1] * 3
                with pytest.raises(StateError):
                    copy.set_state({**env.get_state(), "environment": "textworld:simple-dense"})

    def test_a_killed_worker_ends_the_episode(self, settings: dict[str, Any]) -> None:
        """Truncated, with the reason; the next reset has a new one, and close leaves none."""
        with gem.make("textworld:treasure_hunter-1", **settings) as env:
            env.reset(seed=0)
            process = env.unwrapped._worker._process.pid
            os.kill(process, signal.SIGKILL)
            _, reward, terminated, truncated, info = env.step("look")
            assert (reward, terminated, truncated) == (0.0, False, True)
            assert "has ended" in info["error"]
            env.reset(seed=0)
            process = env.unwrapped._worker._process.pid
            assert env.step("look")[4]["action_status"] == "legal"
        assert not is_running(process)

    @pytest.mark.parametrize("action", [None, "", "\x00", "x" * 500, "\ud800", b"look", "ä" * 20, "take\tall"])
    def test_no_action_crashes_a_step(self, action: Any, settings: dict[str, Any]) -> None:
        """Whatever a model says."""
        with gem.make("textworld:treasure_hunter-1", **settings) as env:
            env.reset(seed=0)
            assert env.step(action)[4]["action_status"] in ("malformed", "illegal")
            assert env.step("look")[4]["action_status"] == "legal"

    def test_many_side_by_side(self, settings: dict[str, Any]) -> None:
        """TextWorld's own parser fails in threads; in processes the episodes are those of one at a time."""
        episodes = []
        for mode in ("sync", "thread"):
            envs = gem.make_vec("textworld:treasure_hunter-12", num_envs=4, mode=mode, **settings)
            try:
                first = envs.reset(seed=2)[0]
                commands = ("look", "inventory", "go east", "go north", "go west")
                episodes.append(str([first, *(envs.step([command] * 4)[:4] for command in commands)]))
            finally:
                envs.close()
        assert episodes[0] == episodes[1]

    def test_jericho_plays_a_story_file(self, settings: dict[str, Any]) -> None:
        """A game that TextWorld compiled is a story file of the Z-machine, one that Jericho has no score for."""
        with gem.make("textworld:simple-dense", **settings) as env:
            env.reset(seed=5)
        story = next(Path(settings["folder"]).glob("simple-*.z8"))
        with gem.make(f"jericho:{story}", python=settings["python"], max_turns=3) as env:
            observation, info = env.reset(seed=0)
            assert "TextWorld" in observation or "-=" in observation
            assert (info["score"], info["max_score"]) == (0, 0)
            observation = env.step("inventory")[0]
            assert "carrying" in observation
            assert not observation.startswith(">")
            twin = gem.make(f"jericho:{story}", python=settings["python"], max_turns=3)
            with twin:
                twin.set_state(env.get_state())
                assert twin.step("look") == env.step("look")
            assert env.step("look")[2:4] == (False, True)
