"""Sessions that keep an episode's requests together, prefix caches, first tokens, and what results say of them."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError
from gem_eval.cli.results import results_command
from gem_eval.cli.run_table import print_run_summary
from gem_eval.cli.settings import evaluation_options
from gem_eval.clients import EndpointClient, ModelPolicy, Sampling, ScriptedClient
from gem_eval.clients.session import episode_session, session_headers, session_name
from gem_eval.clients.streaming import first_token_seconds
from gem_eval.fake_model import FakeModel, ModelRequest
from gem_eval.fake_model.prefix_cache import ReplicaCaches
from gem_eval.runs import EpisodeRow, RunConfig, RunFolder, canonical_lines, evaluate
from gem_eval.runs.call_figures import call_figures
from gem_eval.statistics import summarize_run
from gem_rollout.trajectory import Trajectory

GAME = "game:GuessTheNumber-v0-easy"

Conversation = list[dict[str, Any]]


def played(folder: Path, *, episodes: int = 12, group: int = 2, **client: Any) -> tuple[RunFolder, list[ModelRequest]]:
    """Return a run against a server with three replicas, all its episodes at once, and the requests."""
    requests: list[ModelRequest] = []

    def guess(request: ModelRequest) -> str:
        requests.append(request)
        return f"I guess \\boxed{{{len(request.messages) // 2 + 1}}}"

    async def run() -> RunFolder:
        async with FakeModel(guess, replicas=3) as model:
            config = {"environment": [GAME], "base_url": model.url, "episodes": episodes, "group": group}
            return await evaluate({**config, "client": client}, out=folder)

    return asyncio.run(run()), requests


def test_episodes_side_by_side_never_share_a_session(tmp_path: Path) -> None:
    """Each of 12 episodes has one key, and the conversations under a key continue each other; streams tell their
    first token, and the next turn finds the one before in the cache.
    """
    run, requests = played(tmp_path / "run", stream=True)
    sessions: dict[str, list[Conversation]] = defaultdict(list)
    for request in requests:
        sessions[request.body["prompt_cache_key"]].append(request.messages)
    assert len(sessions) == 12
    for conversations in sessions.values():
        assert [len(messages) // 2 for messages in conversations] == list(range(len(conversations)))
        for before, after in pairwise(conversations):
            assert after[: len(before)] == before
    (item,) = summarize_run(run.rows()).environments
    assert item.cache is not None
    assert item.first_token is not None
    assert item.calls == item.cache.calls == item.first_token.count == len(requests)
    # All blocks of an earlier turn but the last are there; a first turn may find the game's rules.
    later = sum(row.turns - 1 for row in run.rows())
    assert item.cache.cached_tokens >= 16 * later


def test_without_affinity_nothing_names_a_session_and_replicas_forget(tmp_path: Path) -> None:
    """The option switches field and headers off; then turns go to replicas that have not seen the conversation."""
    rates = {}
    for affinity in (True, False):
        run, requests = played(tmp_path / str(affinity), episodes=4, group=1, affinity=affinity)
        assert all(("prompt_cache_key" in request.body) is affinity for request in requests)
        (item,) = summarize_run(run.rows()).environments
        assert item.cache is not None
        assert item.first_token is None
        rates[affinity] = conversations_hit_rate(affinity)
    assert rates[True] > 2 * rates[False]


def conversations_hit_rate(affinity: bool) -> float:
    """Return the cached share of the prompts of four long conversations with nothing in common, turn by turn."""

    async def run() -> float:
        usages = []
        shown: list[Conversation] = [[{"role": "user", "content": letter * 400}] for letter in "abcd"]
        async with (
            FakeModel("constant:" + "word " * 40, replicas=3) as model,
            EndpointClient(model.url, "m", affinity=affinity) as client,
        ):
            for _ in range(4):
                for number, messages in enumerate(shown):
                    completion = await client.chat(messages, sampling=Sampling(session=session_name(number)))
                    usages.append(completion.usage or {})
                    messages += [completion.message, {"role": "user", "content": "And then?"}]
        return sum(one["cached_tokens"] for one in usages) / sum(one["prompt_tokens"] for one in usages)

    return asyncio.run(run())


def test_runs_are_the_same_whatever_was_cached(tmp_path: Path) -> None:
    """The canonical form leaves out what a server's cache and clock decide, of which the second finds more."""

    async def run() -> list[RunFolder]:
        async with FakeModel(GAME) as model:
            config = {"environment": [GAME], "base_url": model.url, "episodes": 2, "client": {"stream": True}}
            return [await evaluate(config, out=tmp_path / name) for name in ("first", "second")]

    first, second = asyncio.run(run())
    assert sum(row.cached_tokens or 0 for row in first.rows()) < sum(row.cached_tokens or 0 for row in second.rows())
    assert list(canonical_lines(first)) == list(canonical_lines(second))


def test_a_session_differs_by_run_environment_seed_and_repetition() -> None:
    """It is the same in every process, and shows nothing of what it is made of."""
    easy, hard = gem.make(GAME), gem.make("game:GuessTheNumber-v0-hard")
    keys = [
        episode_session(run, env, seed, repetition)
        for run in ("a", "b")
        for env in (None, easy, hard)
        for seed in (0, 1, 11)
        for repetition in (0, 1)
    ]
    assert len(set(keys)) == len(keys)
    assert session_name("secret", 1) == session_name("secret", "1") == "148039da3c6101f29f99be4e224e1cc3"
    assert set(session_headers("key").values()) == {"key"}


def test_a_policy_that_nobody_gives_an_episode_has_no_session() -> None:
    """Outside an engine, requests are as the caller's sampling has them."""
    policy = ModelPolicy(ScriptedClient([]), Sampling(temperature=0.5))
    assert policy.sampling == Sampling(temperature=0.5)
    policy.seed_episode(3, 1)
    assert policy.sampling == Sampling(temperature=0.5, session=episode_session(None, None, 3, 1))


@pytest.mark.parametrize("session", ["", "x" * 65, "a\r\nAuthorization: b", "a\nb", "ü", "a b"])
def test_a_session_that_no_header_can_hold_is_refused(session: str) -> None:
    """Before it could split a request."""
    with pytest.raises(ArgumentError, match="session must"):
        Sampling(session=session)


def test_the_command_line_switches_affinity_off() -> None:
    """``--no-affinity`` is an argument of the client; left out, the client's own default holds."""
    import click

    from gem_eval.cli.settings import build_config
    from gem_eval.runs.evaluation_config import EvaluationConfig

    found = []

    @click.command()
    @evaluation_options
    def command(**given: Any) -> None:
        found.append(build_config(EvaluationConfig(), [GAME], given).client)

    for arguments in ([], ["--no-affinity"], ["--affinity"]):
        assert CliRunner().invoke(command, arguments, catch_exceptions=False).exit_code == 0
    assert found == [{}, {"affinity": False}, {"affinity": True}]


PIECES: list[list[int]] = [[0] * 16, [1] * 16, [0] * 5, [1]]
SEQUENCES = st.lists(st.sampled_from(PIECES), max_size=4).map(lambda pieces: [token for one in pieces for token in one])


@example([[0] * 40, [1] * 40], [0] * 16 + [1] * 17)
@example([[0] * 40], [0] * 32)
@given(st.lists(SEQUENCES, max_size=5), SEQUENCES)
def test_the_cache_finds_what_a_plain_search_finds(earlier: list[list[int]], prompt: list[int]) -> None:
    """The whole blocks of 16 tokens that begin a prompt and any earlier sequence, the last token of each left out."""
    caches = ReplicaCaches(1)
    for ids in earlier:
        caches.remember(0, ids)
    common = 0
    for ids in earlier:
        length = 0
        for one, other in zip(prompt[:-1], ids[:-1], strict=False):
            if one != other:
                break
            length += 1
        common = max(common, length)
    assert caches.cached_tokens(0, prompt) == common // 16 * 16


STREAM = (
    b": waiting\n\n"
    b'data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {"content": "He"}}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {"content": "llo"}}]}\n\n'
    b"data: [DONE]\n\n"
)


@given(st.lists(st.integers(1, len(STREAM) - 1), unique=True))
def test_the_first_token_is_there_with_the_part_that_completes_its_event(cuts: list[int]) -> None:
    """However a stream is cut: not with a comment, nor with the role."""
    arrivals = [(size, float(size)) for size in [*sorted(cuts), len(STREAM)]]
    end = STREAM.index(b'"He"}}]}') + len(b'"He"}}]}')
    assert first_token_seconds(STREAM, arrivals) == min(size for size, _ in arrivals if size >= end)


@pytest.mark.parametrize(
    "content", [b"", b"data: [DONE]\n\n", b"data: 3\n\n", b'data: {"choices": 7}\n\n', b"\xff\n\n"]
)
def test_a_stream_without_tokens_has_no_first_one(content: bytes) -> None:
    """Whatever else it holds."""
    assert first_token_seconds(content, [(len(content), 1.0)]) is None


@pytest.mark.parametrize(
    "said",
    [
        {"usage": {"prompt_tokens": 5}},
        {"usage": {"cached_tokens": 5}},
        {"usage": {"prompt_tokens": 5, "cached_tokens": 6}},
        {"usage": {"prompt_tokens": 5, "cached_tokens": -1}},
        {"usage": {"prompt_tokens": 5, "cached_tokens": True}},
        {"usage": {"prompt_tokens": "5", "cached_tokens": "5"}},
        {"usage": [3]},
        {"metadata": {"first_token_seconds": float("nan")}},
        {"metadata": {"first_token_seconds": 10**400}},
        {"metadata": {"first_token_seconds": -1.0}},
        {"metadata": []},
    ],
)
def test_what_cannot_be_true_says_nothing(said: dict[str, Any]) -> None:
    """It is unknown, and never a rate of 0, in turns as in the calls of a program."""
    unknown: dict[str, Any] = {
        "cache_calls": 0,
        "cached_tokens": None,
        "cache_prompt_tokens": None,
        "first_token_seconds": [],
        "token_calls": 0,
        "exact_calls": 0,
    }
    for figures in (call_figures([said], {}), call_figures([], {"lineages": {"calls": [said, 3]}})):
        assert {name: value for name, value in figures.items() if name != "calls"} == unknown


def test_the_calls_of_a_program_count_in_place_of_its_turns(
    make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    """A turn of a program holds the sum of several calls; the tree of lineages has each. Table and JSON agree."""
    episode = make_trajectory(turns=2)
    calls = [
        {"usage": {"prompt_tokens": 100, "cached_tokens": 0}, "metadata": {"first_token_seconds": 0.5}},
        {"usage": {"prompt_tokens": 200, "cached_tokens": 96}, "metadata": {"first_token_seconds": 0.25}},
        {"usage": {"prompt_tokens": 300}},
        {"error": "TimeoutError"},
    ]
    episode.metadata["lineages"] = {"calls": calls, "sealed": ""}
    with RunFolder.create(tmp_path / "run", make_config(episodes=1)) as folder:
        folder.append(episode)
    (row,) = RunFolder(tmp_path / "run").rows()
    assert (row.calls, row.cache_calls, row.cached_tokens, row.cache_prompt_tokens) == (3, 2, 96, 300)
    assert (row.cache_hit_rate, row.first_token_p50) == (0.32, 0.25)
    output = CliRunner().invoke(results_command, [str(tmp_path / "run")], catch_exceptions=False).output
    assert "32.0 % of 300 prompt tokens (2 of 3 calls)" in output
    assert "p50 0.25 s, p95 0.5 s (2 of 3 calls)" in output


def test_an_index_from_before_these_figures_is_not_trusted(
    make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    """Its rows would say that nothing is known of what the episodes tell."""
    episode = make_trajectory(turns=1)
    episode.transitions[0].usage = {"prompt_tokens": 64, "completion_tokens": 8, "cached_tokens": 48}
    with RunFolder.create(tmp_path / "run", make_config(episodes=1)) as folder:
        folder.append(episode)
    index = tmp_path / "run" / "index.jsonl"
    (row,) = RunFolder(tmp_path / "run").rows()
    old = row.to_dict()  # what a line was once
    for name in ("calls", "cache_calls", "cached_tokens", "cache_prompt_tokens", "first_token_seconds"):
        del old[name]
    index.write_text(json.dumps(old) + "\n")
    with pytest.raises(TypeError):
        EpisodeRow.from_values(json.loads(index.read_text()))
    (row,) = RunFolder(tmp_path / "run").rows()
    assert row.cache_hit_rate == 0.75


def test_a_server_that_says_nothing_of_its_cache_is_unknown(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    """The table says so with the count, JSON has null, and no cell has a 0."""
    run = make_run()
    output = CliRunner().invoke(results_command, [str(run.path)], catch_exceptions=False).output
    (item,) = summarize_run(run.rows()).environments
    assert item.cache is None
    assert f"unknown (0 of {item.calls} calls)" in output
    assert "unknown (no call was streamed)" in output
    (record,) = json.loads(CliRunner().invoke(results_command, [str(run.path), "--json"]).output)
    assert record["environments"][0]["cache"] is None


def test_of_several_environments_each_has_a_row(
    make_run: Callable[..., RunFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the calls that tell and those that were streamed; "unknown" where the server was silent."""
    told, silent = make_run(env=("game:A-v0", "game:B-v0"), episodes=1, turns=2).rows()
    told = replace(told, cache_calls=1, cached_tokens=30, cache_prompt_tokens=40, first_token_seconds=[0.5, 0.125])
    print_run_summary(summarize_run([told, silent]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    start = next(number for number, words in enumerate(lines) if words[:2] == ["model", "calls"])
    assert lines[start + 1 : start + 3] == [
        ["game:A-v0", "75.0", "%", "1/2", "0.125", "s", "0.5", "s", "2/2"],
        ["game:B-v0", "unknown", "0/2", "unknown", "0/2"],
    ]
