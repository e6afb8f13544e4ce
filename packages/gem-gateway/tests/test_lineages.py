"""Exact tokens for programs that own their loop: no id in a row that was not sampled or shown, no mask wrong."""

from __future__ import annotations

import asyncio
import copy
import functools
import random
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from difficult_programs import TOOLS, DifficultProgram, OddModel, PairCodec

from gem.errors import EpisodeLimitError, NotSupportedError, TrajectoryError
from gem_eval.clients import Completion, ModelError, ScriptedClient
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall
from gem_gateway.lineages.exact_prompts import ExactPrompts
from gem_gateway.lineages.journal import CallJournal, read_journal
from gem_gateway.lineages.matching import Match
from gem_gateway.lineages.recorder import LineageRecorder
from gem_rollout.lineages import LineageTree
from gem_rollout.lineages.certificate import certify_calls
from gem_rollout.lineages.kinds import lineage_kinds
from gem_rollout.lineages.leaf_rows import leaf_rows

_CALLS = (
    "{% for call in message.tool_calls or [] %}"
    "<call>{{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}"
)
_TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool.function.name }},{% endfor %}"
    "{% for message in messages %}<|{{ message.role }}|>{{ TEXT }}" + _CALLS + "<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEMPLATES = {
    "growing": _TEMPLATE.replace("TEXT", "message.content"),
    "trimming": _TEMPLATE.replace("TEXT", "message.content | trim"),
    "forgetful": _TEMPLATE.replace("TEXT", "(message.content or '').split('</think>')[-1]"),
}
"""Adds at the end only; trims answers as Llama's does; drops reasoning as Qwen 3's does."""

PUBLISHED = ("qwen3", "qwen3_5_think", "llama3_1", "deepseekv3", "glm4moe", "gptoss")


SINGLE_CALLS = ("llama3_1", "gptoss")
"""Templates that refuse an answer with several calls."""


def played(
    codec: PairCodec, seed: int, steps: int = 8, parallel_calls: bool = True
) -> tuple[DifficultProgram, OddModel, LineageTree]:
    """Return an episode of a difficult program."""
    rng = random.Random(seed)
    model = OddModel(codec, rng, tells=rng.random() < 0.8, parallel_calls=parallel_calls)
    recorder = LineageRecorder(model, exact_tokens=True, tokenizer=codec)  # type: ignore[arg-type]
    program = DifficultProgram(recorder, model, rng)
    asyncio.run(program.play(steps))
    return program, model, recorder.tree


def check(program: DifficultProgram, model: OddModel, tree: LineageTree) -> Counter[str]:
    """Compare a record with the model's own log, and the places of its calls with what the program knows.

    Returns:
        How many calls continued one, were refused a place, began a lineage.
    """
    answered = [index for index, call in enumerate(tree.calls) if call.answer is not None]
    assert len(answered) == len(model.log)
    places: Counter[str] = Counter()
    for index, (prompt, sampled, logprobs) in zip(answered, model.log, strict=True):
        call = tree.calls[index]
        assert tree.prompt_ids(index) == prompt
        assert (call.token_ids, call.logprobs) == (sampled, logprobs)
    for index in answered:
        call, true = tree.calls[index], program.truth[index]
        if call.parent is not None and call.parent != true:
            assert true is not None, (index, program.kinds[index])
            same = tree.calls[true]  # answered alike, to the token
            assert (tree.prompt_ids(call.parent), tree.calls[call.parent].token_ids) == (
                tree.prompt_ids(true),
                same.token_ids,
            )
        assert (call.parent is None) == (call.began is not None)
        places["continued" if call.parent is not None else "unmatched" if true is not None else "new"] += 1
        places["exact"] += call.exact
    rows, unknown = leaf_rows(tree, side=True)
    assert unknown == []
    sampled_in_rows: Counter[int] = Counter()
    ends = {(*prompt, *sampled) for prompt, sampled, _ in model.log}
    for row in rows:
        assert tuple(row.token_ids) in ends
        for index in {one for one in row.calls if one >= 0}:
            prompt, sampled, logprobs = model.log[answered.index(index)]
            own = range(len(prompt), len(prompt) + len(sampled))
            assert [place for place, one in enumerate(row.calls) if one == index] == list(own)
            assert row.token_ids[: own.start] == prompt
            assert row.token_ids[own.start : own.stop] == sampled
            assert row.logprobs[own.start : own.stop] == logprobs
            sampled_in_rows[index] += 1
    assert all(count == 1 for count in sampled_in_rows.values())
    assert set(sampled_in_rows) == {index for index in answered if tree.calls[index].token_ids}
    certificate = certify_calls(tree)
    assert certificate.faults == []
    assert certificate.prompts_proved == (len(answered) if model.tells else 0)
    return places


def test_no_id_is_in_a_row_that_was_not_sampled_or_shown() -> None:
    """Whatever a program does to the conversation, and however it echoes what was said."""
    places: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for seed in range(21):
        program, model, tree = played(PairCodec(list(TEMPLATES.values())[seed % 3]), seed)
        places += check(program, model, tree)
        kinds.update(program.kinds)
    assert min(kinds.values()) > 1, kinds
    assert places["continued"] > 100
    assert places["unmatched"] < 0.05 * places["continued"]
    assert places["exact"] > 0.95 * places["continued"]


@pytest.mark.nightly
def test_the_parts_of_lineages_are_what_the_program_did() -> None:
    """Openings and edits always; subagents and compactions unless the program repeats itself or goes back later."""
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(30):
        program, _, tree = played(PairCodec(TEMPLATES["growing"]), seed)
        found.update((program.kinds[root], kind) for root, kind in lineage_kinds(tree).items())
    whole = Counter(did for did, _ in found.elements())
    assert found["opening", "main"] == 30
    for did in ("edit question", "edit answer"):
        assert found[did, "changed_history"] == whole[did] > 1
    for did, kind, share in (("subagent", "subagent", 0.6), ("compact", "compaction", 0.7), ("side", "side", 0.9)):
        assert found[did, kind] >= share * whole[did] > 1, found


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the package trl, which carries templates; nothing of it is installed."""
    folder = tmp_path_factory.mktemp("trl")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), "trl==1.16.0"]
    done = subprocess.run(download, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index could be reached: {done.stderr[-300:]}")
    (wheel,) = folder.glob("trl-*.whl")
    return zipfile.ZipFile(wheel)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_templates(name: str, published: zipfile.ZipFile) -> None:
    """2,000 episodes each; the shares of calls that were matched are printed."""
    template = published.read(f"trl/chat_templates/{name}.jinja").decode()
    codec = PairCodec(template, {"bos_token": "<|bos|>", "eos_token": "<|eos|>"})
    places: Counter[str] = Counter()
    for seed in range(2000):
        places += check(*played(codec, seed, parallel_calls=name not in SINGLE_CALLS))
    print(name, dict(places))
    assert places["unmatched"] < 0.05 * places["continued"]


def recorded(*answers: Any, **arguments: Any) -> LineageRecorder:
    """Return a recorder before a scripted model."""
    return LineageRecorder(ScriptedClient(list(answers)), **arguments)


def said(text: str, ids: list[int] | None = None, prompt: list[int] | None = None, **fields: Any) -> Completion:
    """Return a completion with tokens."""
    completion = Completion({"role": "assistant", "content": text, **fields}, text)
    completion.token_ids, completion.prompt_token_ids = ids, prompt
    return completion


def ask(recorder: LineageRecorder, *messages: dict[str, Any], tools: Any = None) -> Completion:
    """Return the answer to a conversation."""
    return asyncio.run(recorder.answer(ModelCall(list(messages), tools)))


def user(text: Any) -> dict[str, Any]:
    """Return a message of a program."""
    return {"role": "user", "content": text}


def called(identifier: str, arguments: str = '{"path": "/a"}') -> dict[str, Any]:
    """Return an answer that calls a tool."""
    function = {"name": "look", "arguments": arguments}
    calls = [{"id": identifier, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_equal_answers_are_told_apart_by_their_call_ids() -> None:
    """Two retries of a prompt, answered alike with other tokens."""
    recorder = recorded(said("", [1], [0], **called("a")), said("", [2], [0], **called("b")), "done", "done")
    ask(recorder, user("x"), tools=TOOLS)
    ask(recorder, user("x"), tools=TOOLS)
    for identifier, parent in (("a", 0), ("b", 1)):
        echoed = called(identifier, '{"path":"/a"}')
        ask(recorder, user("x"), echoed, {"role": "tool", "tool_call_id": identifier, "content": "1"}, tools=TOOLS)
        assert recorder.tree.calls[-1].parent == parent


def test_equal_answers_are_told_apart_by_their_reasoning() -> None:
    """Where the program echoes it; where not, nothing is joined by guess, and the record says so."""
    recorder = recorded(
        said("ok", [1], [0], reasoning_content="one"), said("ok", [2], [0], reasoning_content="two"), *["done"] * 3
    )
    ask(recorder, user("x"))
    ask(recorder, user("x"))
    for reasoning, parent in (("one", 0), ("two", 1)):
        ask(recorder, user("x"), {"role": "assistant", "content": "ok", "reasoning_content": reasoning}, user("y"))
        assert recorder.tree.calls[-1].parent == parent
    ask(recorder, user("x"), {"role": "assistant", "content": "ok"}, user("y"))
    assert recorder.tree.calls[-1].parent is None
    assert recorder.tree.calls[-1].began == "2 recorded calls were answered alike, with other tokens"


@pytest.mark.parametrize(
    "change",
    [
        lambda talk: talk[0].update(content="other"),
        lambda talk: talk[1].update(content="ok?"),
        lambda talk: talk[1].update(called("a")),
        lambda talk: talk.insert(0, {"role": "system", "content": "s"}),
        lambda talk: talk.pop(0),
        lambda talk: talk[0].update(role="developer"),
        lambda talk: talk[0].update(content=[{"type": "text", "text": "x"}, {"type": "text", "text": "x"}]),
        lambda talk: talk[0].update(content=[{"type": "image_url", "image_url": {"url": "data:,"}}]),
        lambda talk: talk.pop(),
    ],
)
def test_what_does_not_agree_begins_a_lineage(change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """With its reason; unchanged, the same conversation continues."""
    recorder = recorded("ok", "done", "done")
    ask(recorder, user("x"))
    talk = [user("x"), {"role": "assistant", "content": "ok"}, user("y")]
    ask(recorder, *copy.deepcopy(talk))
    assert (recorder.tree.calls[-1].parent, recorder.tree.calls[-1].messages) == (0, [user("y")])
    change(talk)
    ask(recorder, *talk)
    assert recorder.tree.calls[-1].parent is None
    assert recorder.tree.calls[-1].began


def test_other_tools_begin_a_lineage() -> None:
    """Templates write them into the prompt."""
    recorder = recorded("ok", "done")
    ask(recorder, user("x"), tools=TOOLS)
    ask(recorder, user("x"), {"role": "assistant", "content": "ok"}, user("y"), tools=TOOLS[:1])
    assert recorder.tree.calls[-1].parent is None


def test_a_server_that_renders_anew_begins_a_row_of_the_same_lineage() -> None:
    """Its ids are in the record whole, and the certificate counts no continuation."""
    recorder = recorded(said("ok", [5], [1, 2]), said("yes", [6], [1, 2, 9, 3]), said("no", [7], [1, 2, 9, 3, 6, 4]))
    talk = [user("x")]
    for text in ("ok", "yes", "no"):
        ask(recorder, *talk)
        talk += [{"role": "assistant", "content": text}, user("go on")]
    tree = recorder.tree
    assert [(call.parent, call.exact, call.added_ids) for call in tree.calls] == [
        (None, False, [1, 2]),
        (0, False, [1, 2, 9, 3]),
        (1, True, [4]),
    ]
    rows, unknown = leaf_rows(tree)
    assert [(row.token_ids, row.calls) for row in rows] == [
        ([1, 2, 5], [-1, -1, 0]),
        ([1, 2, 9, 3, 6, 4, 7], [-1, -1, -1, -1, 1, -1, 2]),
    ]
    assert unknown == []
    assert certify_calls(tree).continued == 1


def test_a_title_is_a_lineage_of_its_own_and_in_no_row() -> None:
    """A lineage in which no tool was offered, where the program offered some in another one."""
    recorder = recorded(said("a title", [1], [0]), said("ok", [3], [2]))
    ask(recorder, user("title for x"))
    assert [row.leaf for row in leaf_rows(recorder.tree)[0]] == [0]
    ask(recorder, user("x"), tools=TOOLS)
    assert [row.leaf for row in leaf_rows(recorder.tree)[0]] == [1]
    assert [row.leaf for row in leaf_rows(recorder.tree, side=True)[0]] == [0, 1]


def test_a_failed_call_is_recorded_and_continued_by_none() -> None:
    """Its retry continues what it would have continued."""
    recorder = recorded("ok", RuntimeError("lost"), "yes")
    ask(recorder, user("x"))
    talk = [user("x"), {"role": "assistant", "content": "ok"}, user("y")]
    with pytest.raises(RuntimeError, match="lost"):
        ask(recorder, *talk)
    ask(recorder, *talk)
    assert [(call.parent, call.error) for call in recorder.tree.calls] == [
        (None, None),
        (0, "RuntimeError: lost"),
        (0, None),
    ]
    assert recorder.tree.leaves() == [2]
    assert certify_calls(recorder.tree).faults == []


def test_pictures_are_refused_where_ids_would_lose_them() -> None:
    """And the refusal is in the record."""
    codec = PairCodec(TEMPLATES["growing"])
    recorder = LineageRecorder(OddModel(codec, random.Random(0)), exact_tokens=True, tokenizer=codec)  # type: ignore[arg-type]
    with pytest.raises(NotSupportedError, match="image_url"):
        ask(recorder, user([{"type": "image_url", "image_url": {"url": "data:,"}}]))
    assert "image_url" in str(recorder.tree.calls[0].error)


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), functools.reduce(lambda inner, _: [inner], range(400), 1)]
)
def test_a_call_that_no_record_can_hold_does_not_reach_the_model(value: Any) -> None:
    """Its tokens would be in no budget, and its answer in no lineage."""
    client = ScriptedClient(["yes"])
    recorder = LineageRecorder(client)
    messages = [{"role": "user", "content": "?"}]
    with pytest.raises(ModelCallError, match=r"which JSON cannot hold|levels deep") as told:
        asyncio.run(recorder.answer(ModelCall(messages, metadata={"user": value})))
    assert told.value.kind == "unusable"
    assert client.prompts == recorder.tree.calls == []
    asyncio.run(recorder.answer(ModelCall(messages, metadata={"user": 2**70})))
    assert len(recorder.tree.calls) == 1


def test_a_record_that_is_full_ends_the_calls() -> None:
    """A program makes it grow without a token of a model, by conversations that the server refuses."""
    client = ScriptedClient([ModelError("bad_request", "too long")] * 9)
    recorder = LineageRecorder(client, most_bytes=3000)
    for number in range(3):
        with pytest.raises(ModelError):
            ask(recorder, user(str(number) * 1000))
    with pytest.raises(EpisodeLimitError, match="is full") as full:
        ask(recorder, user("x"))
    assert full.value.limit == "record"
    assert len(recorder.tree.calls) == len(client.prompts) == 3


def test_few_lists_of_tools_are_remembered() -> None:
    """A program that makes up others with each call fills no memory, and its prompts are the same."""
    codec = PairCodec(TEMPLATES["growing"])
    tree = LineageTree()
    prompts, fresh = ExactPrompts(codec, tree), ExactPrompts(codec, tree)
    for number in [*range(20), 0]:
        tools = [{"type": "function", "function": {"name": f"f{number}", "parameters": {"type": "object"}}}]
        talk = [user("x")]
        found = asyncio.run(prompts.ids(talk, tools, Match(b"", reason="a test")))
        assert found == asyncio.run(fresh.ids(talk, tools, Match(b"", reason="a test")))
        fresh = ExactPrompts(codec, tree)
    assert len(prompts._books) == 8


def test_repetitions_are_compared_by_tokens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that asks the same again and again costs each time as much as the first."""
    count = 30
    recorder = recorded(*[said("ok", [5], [1, 2])] * count, *["done"] * count)
    for _ in range(count):
        ask(recorder, user("x"))
    seen: Counter[int] = Counter()
    ids = LineageTree.prompt_ids

    def counted(tree: LineageTree, index: int) -> list[int] | None:
        seen[index] += 1
        return ids(tree, index)

    monkeypatch.setattr(LineageTree, "prompt_ids", counted)
    for _ in range(count):
        ask(recorder, user("x"), {"role": "assistant", "content": "ok"}, user("y"))
        assert recorder.tree.calls[-1].parent == count - 1
    assert [seen[index] for index in range(count - 1)] == [1] * (count - 1)


def test_a_journal_has_each_answer_before_it_leaves(tmp_path: Path) -> None:
    """A line that was cut off is an answer that never left."""
    path = tmp_path / "calls.jsonl"
    seen: list[int] = []
    recorder = recorded("ok", "done", journal=CallJournal(path))
    talk = [user("x \ud800"), {"role": "assistant", "content": "ok"}, user("y")]
    for count in (1, 3):
        ask(recorder, *talk[:count])
        seen.append(len(read_journal(path).calls))
    assert seen == [1, 2]
    tree = read_journal(path)
    assert tree == recorder.tree
    asyncio.run(recorder.close())
    assert certify_calls(tree).faults == []
    with pytest.raises(TrajectoryError, match="cannot be made"):
        CallJournal(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert len(read_journal(path).calls) == 1
    path.write_bytes(b"{}x\n" + whole)
    with pytest.raises(TrajectoryError, match="line 1"):
        read_journal(path)


def _damages() -> dict[str, Callable[[list[dict[str, Any]]], Any]]:
    return {
        "an id of a prompt": lambda calls: calls[1]["added_ids"].__setitem__(0, 99),
        "an id more in a prompt": lambda calls: calls[1]["added_ids"].append(5),
        "an id less in a prompt": lambda calls: calls[0]["added_ids"].pop(),
        "a sampled id": lambda calls: calls[0]["token_ids"].__setitem__(0, 99),
        "a sampled id less": lambda calls: calls[2]["token_ids"].pop(),
        "a sampled id more": lambda calls: calls[2]["token_ids"].append(1),
        "sampled ids in another order": lambda calls: calls[0]["token_ids"].reverse(),
        "a log-probability": lambda calls: calls[0]["logprobs"].__setitem__(0, -7.0),
        "a log-probability less": lambda calls: calls[0]["logprobs"].pop(),
        "a log-probability above zero": lambda calls: calls[0]["logprobs"].__setitem__(0, 0.5),
        "another parent": lambda calls: calls[2].__setitem__("parent", 0),
        "no parent": lambda calls: (calls[2].pop("parent"), calls[2].pop("exact")),
        "a call lost": lambda calls: calls.pop(),
        "the first call lost": lambda calls: calls.pop(0),
        "two calls in another order": lambda calls: calls.insert(0, calls.pop(3)),
        "a call twice": lambda calls: calls.append(copy.deepcopy(calls[-1])),
        "not exact any more": lambda calls: calls[1].pop("exact"),
        "exact without being so": lambda calls: calls[3].update(exact=True, parent=2),
        "another text": lambda calls: calls[0]["answer"].__setitem__("content", "no"),
        "another message": lambda calls: calls[1]["messages"][0].__setitem__("content", "no"),
        "another version": lambda calls: calls[1].__setitem__("version", 8),
        "evidence of another prompt": lambda calls: calls[1]["evidence"].__setitem__("prompt", "0" * 32),
        "no evidence": lambda calls: calls[1].pop("evidence"),
        "another digest": lambda calls: calls[1].__setitem__("digest", "0" * 32),
        "another turn": lambda calls: calls[1].__setitem__("turn", 7),
    }


@pytest.mark.parametrize("kind", _damages())
def test_the_certificate_finds_damage(kind: str) -> None:
    """Of every kind, in calls that are proved without it."""
    recorder = recorded(
        said("ok", [5, 6], [1, 2]), said("yes", [7, 8], [1, 2, 5, 6, 3]), said("no", [9, 4], [1, 2, 5, 6, 3, 7, 8, 3]),
        said("aside", [2, 2], [4, 4]), version=lambda: 7, turns=lambda: 0,
    )  # fmt: skip
    for answer in recorder._client._answers:  # type: ignore[attr-defined]
        answer.logprobs = [-0.1, -0.2]
    talk = [user("x")]
    for text in ("ok", "yes", "no"):
        ask(recorder, *talk)
        talk += [{"role": "assistant", "content": text}, user("go on")]
    ask(recorder, user("something else"))
    record = copy.deepcopy(recorder.tree.to_dict())
    whole = certify_calls(LineageTree.from_dict(record))
    assert (whole.faults, whole.prompts_proved, whole.answers_proved, whole.continued) == ([], 4, 4, 2)
    _damages()[kind](record["calls"])
    try:
        found = certify_calls(LineageTree.from_dict(record))
    except TrajectoryError:
        return
    assert found.faults
