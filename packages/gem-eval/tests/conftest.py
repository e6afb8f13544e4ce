"""Runs for tests: folders with made-up episodes, which look like those of a small model."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gem.env_spec import EnvSpec
from gem_eval.runs import Prices, RunConfig, RunEnvironment, RunFolder
from gem_rollout.trajectory import Failure, Trajectory, Transition

if TYPE_CHECKING:
    from chromium import Chromium, ChromiumPage

sys.path.append(str(Path(__file__).parent))


def made_up_trajectory(
    env: str = "game:GuessTheNumber-v0-easy",
    seed: int = 0,
    repetition: int = 0,
    *,
    skill: float = 0.6,
    turns: int | None = None,
    tokens: int = 8,
    failure: Failure | None = None,
    agent: str = "made-up-model",
    salt: int = 0,
    info: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Trajectory:
    """Return an episode that depends on its arguments alone.

    Args:
        env: the id of the environment, which is not made.
        seed: of the episode.
        repetition: within the group.
        skill: the probability of success; seeds differ in difficulty.
        turns: number of turns; 1 to 6 by chance unless given.
        tokens: sampled tokens of each turn, with two alternatives each.
        failure: makes the episode a failed one.
        agent: the name of the model.
        salt: makes another run of the same seeds.
        info: added to that of the last turn.
        metadata: of the episode.
    """
    chance = random.Random(ascii((env, seed, repetition, salt)))
    difficulty = random.Random(ascii((env, seed))).uniform(-0.3, 0.3)
    success = chance.random() < skill + difficulty
    count = chance.randint(1, 6) if turns is None else turns
    transitions = []
    for turn in range(count):
        last = turn == count - 1 and failure is None
        ids = [chance.randrange(50_000) for _ in range(tokens)]
        logprobs = [-chance.random() for _ in range(tokens)]
        transitions.append(
            Transition(
                observation=f"Turn {turn}: guess a number between 1 and 10.",
                action=f"I guess \\boxed{{{chance.randint(1, 10)}}}",
                reward=float(success) if last else 0.0,
                terminated=last,
                truncated=False,
                info={"turn": turn, **({"success": success, **(info or {})} if last else {})},
                token_ids=ids,
                logprobs=logprobs,
                tokens=[f"t{i}" for i in ids],
                top_logprobs=[[(f"t{i}", lp), ("other", lp - 1)] for i, lp in zip(ids, logprobs, strict=True)],
                usage={"prompt_tokens": 20 + 30 * turn, "completion_tokens": tokens},
                finish_reason="stop",
                model=agent,
                act_seconds=chance.uniform(0.1, 2.0),
                step_seconds=chance.uniform(0.0001, 0.01),
            )
        )
    return Trajectory(
        EnvSpec(id=env, entry_point="made_up.environment:MadeUpEnv"),
        seed,
        transitions,
        final_observation="The end.",
        agent=agent,
        repetition=repetition,
        metadata=dict(metadata or {}),
        stop_reason=None if failure else "terminated",
        failure=failure,
        started_at=1_750_000_000.0 + seed,
        seconds=sum((t.act_seconds or 0) + (t.step_seconds or 0) for t in transitions),
    )


def made_up_config(
    envs: Iterable[str] = ("game:GuessTheNumber-v0-easy",), *, episodes: int = 8, group: int = 1, **values: Any
) -> RunConfig:
    """Return a configuration for made-up episodes."""
    return RunConfig(
        environments=tuple(
            RunEnvironment(env, env, EnvSpec(env, "made_up.environment:MadeUpEnv"), None, episodes, group, 0)
            for env in envs
        ),
        episodes=episodes,
        group=group,
        **{
            "agent": "made-up-model",
            "model": "made-up-model",
            "base_url": "http://127.0.0.1:8000/v1",
            "started_at": 1_750_000_000.0,
            "packages": {"gem-core": "0.1.0", "gem-eval": "0.1.0"},
            **values,
        },
    )


@pytest.fixture(scope="session")
def make_trajectory() -> Callable[..., Trajectory]:
    """The function :func:`made_up_trajectory`."""
    return made_up_trajectory


@pytest.fixture(scope="session")
def make_config() -> Callable[..., RunConfig]:
    """The function :func:`made_up_config`."""
    return made_up_config


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunFolder]:
    """A function that writes a run folder with made-up episodes and returns it, opened for reading."""

    def make(
        name: str = "run",
        *,
        env: str | Iterable[str] = "game:GuessTheNumber-v0-easy",
        episodes: int = 8,
        group: int = 1,
        failures: int = 0,
        path: Path | None = None,
        prices: Prices | None = None,
        agent: str = "made-up-model",
        **values: Any,
    ) -> RunFolder:
        """Write ``episodes`` episodes of each environment, the first ``failures`` of which failed.

        Further ``values`` go to :func:`made_up_trajectory`.
        """
        envs = [env] if isinstance(env, str) else list(env)
        config = made_up_config(envs, episodes=episodes, group=group, prices=prices, agent=agent, model=agent)
        with RunFolder.create(path or tmp_path / name, config) as folder:
            for label in envs:
                for number in range(episodes):
                    failure = Failure("endpoint", "server_error", "500 from the server", 1)
                    folder.append(
                        made_up_trajectory(
                            label,
                            number // group,
                            number % group,
                            agent=agent,
                            failure=failure if number < failures else None,
                            **values,
                        )
                    )
        return RunFolder(folder.path)

    return make


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests."""
    from chromium import Chromium

    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def view(chromium: Chromium) -> Iterator[Callable[..., ChromiumPage]]:
    """A function that serves runs and opens their page at an address; it fails if the page complains."""
    from gem_eval.viewer.server import serve_runs
    from gem_eval.viewer.viewed_run import ViewedRun

    serving: list[Any] = []
    pages: list[tuple[ChromiumPage, str]] = []

    def open_page(*runs: RunFolder, at: str = "", **window: Any) -> ChromiumPage:
        server = serve_runs([ViewedRun(run.path) for run in runs])
        address = chromium.loop.run(server.__aenter__())
        serving.append(server)
        page = chromium.page(**window)
        pages.append((page, address))
        page.goto(address + at)
        page.wait_for("document.documentElement.dataset.ready && !document.querySelector('.waiting')")
        return page

    yield open_page
    for page, address in pages:
        foreign = [request for request in page.requests if not request.startswith((address, "data:"))]
        assert not foreign
        assert not page.errors
        assert not page.dialogs
        page.close()
    for server in serving:
        chromium.loop.run(server.__aexit__(None, None, None))
