"""``gem check-template``: templates as files, the check of prompts, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem.core import Env, Wrapper
from gem.errors import ArgumentError
from gem.plugins import lookup
from gem.tools import ToolEnvWrapper
from gem_cli.main import cli
from gem_rollout.chat_templates.files import ChatTemplateFile, read_tokenizer
from gem_rollout.chat_templates.prompt_check import ACTION_KINDS, check_prompts, check_roles

_LOOP = "{%- for message in messages %}"
_GENERATION = "{%- endfor %}{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
_TURN = "{{- '<' + message.role + '>' + message.content + '<end>' }}"
_CALLS = "{%- for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}"

GROWING = f"{_LOOP}{{{{- '<' + message.role + '>' + message.content }}}}{_CALLS}{{{{- '<end>' }}}}{_GENERATION}"
"""Renders every role, and calls; adds at the end only."""

FORGETFUL = f"""{_LOOP}{{%- set text = message.content %}}
{{%- if message.role == 'assistant' %}}{{% set text = text.split('</think>')[-1].lstrip() %}}{{% endif %}}
{{{{- '<' + message.role + '>' + text + '<end>' }}}}{_GENERATION}"""
"""Drops the reasoning of earlier turns, as templates of reasoning models do."""

THINKING = f"{_LOOP}{_TURN}{{%- endfor %}}{{%- if add_generation_prompt %}}{{{{ '<assistant><think>' }}}}{{% endif %}}"
"""Opens the tag in the generation prompt and nowhere else."""

STRICT = f"""{_LOOP}
{{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}}
{{{{- raise_exception('Conversation roles must alternate user/assistant') }}}}{{% endif %}}{_TURN}{_GENERATION}"""
"""Refuses system and tool, as Gemma's and Mistral's first templates do."""

LOSING = f"""{_LOOP}{{%- set kept = loop.index < 5 or message.role == 'assistant' %}}
{{{{- '<' + message.role + '>' + (message.content if kept else '') }}}}{_GENERATION}"""
"""Leaves out the user's messages from the fifth message on."""

TURNING = f"{{{{- messages | length }}}}{_LOOP}{_TURN}{_GENERATION}"
"""Counts the messages at its beginning."""


class LookUp(ToolEnvWrapper):
    """A tool that answers with awkward text."""

    def __init__(self, env: Env[Any, Any]) -> None:
        def look(at: str = "") -> str:
            """Look somewhere."""
            return 'You see {"a": "ö"}\nand more'

        super().__init__(env, [look])


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offers the wrapper ``look_up``."""
    import gem.wrappers

    def found(hook: str, name: str, *rest: Any) -> Any:
        return LookUp if name == "look_up" else lookup(hook, name, *rest)

    monkeypatch.setattr(gem.wrappers, "lookup", found)


def problems(template: str, wrappers: str = "concat_chat", **options: Any) -> dict[str, tuple[str | None, int | None]]:
    """Return the problem and its turn for each kind of actions."""
    played = check_prompts(ChatTemplateFile(template), wrappers, **options)
    return {episode.actions: (episode.problem, episode.turn) for episode in played}


HOLDS = (None, None)


@pytest.mark.usefixtures("tool")
@pytest.mark.parametrize("show", ["concat_chat", "messages", "concat_chat_on_reset"])
def test_a_template_that_only_adds_holds_with_every_kind_of_action(show: str) -> None:
    """Reasoning, calls as text, native calls, and two of them at once."""
    assert problems(GROWING, f"look_up,{show},episode_tracking") == dict.fromkeys(ACTION_KINDS, HOLDS)


@pytest.mark.parametrize(
    ("template", "text", "reasoning"),
    [
        (FORGETFUL, HOLDS, ("changed", 1)),
        (THINKING, ("rewritten", 1), ("rewritten", 1)),
        (LOSING, ("lost", 2), ("lost", 2)),
        (TURNING, ("rewritten", 1), ("rewritten", 1)),
        (STRICT, HOLDS, HOLDS),
    ],
    ids=["forgetful", "thinking", "losing", "turning", "strict"],
)
@pytest.mark.parametrize("wrappers", ["concat_chat", "messages"])
def test_the_first_turn_with_a_problem_is_named(template: str, wrappers: str, text: Any, reasoning: Any) -> None:
    """What templates do wrong, each found where it happens first; without tools, no tool is called."""
    assert problems(template, wrappers) == {"text": text, "reasoning": reasoning}


def test_the_difference_is_shown() -> None:
    """The end of what both have in common, and how each goes on."""
    (episode,) = check_prompts(ChatTemplateFile(FORGETFUL), kinds=["reasoning"])
    assert episode.agreed.endswith("<assistant>")
    assert episode.before.startswith("<think>\nTurn 1.")
    assert episode.now.startswith("My answer is:")


@pytest.mark.usefixtures("tool")
def test_a_template_without_the_role_tool_works_with_concat_chat_and_not_with_native_messages() -> None:
    """The wrapper falls back to the user; messages of native calls keep their role, as chat APIs demand."""
    assert problems(STRICT, "look_up,concat_chat") == dict.fromkeys(ACTION_KINDS, HOLDS)
    found = problems(STRICT, "look_up,messages")
    assert found["tool-text"] == HOLDS
    assert found["tool-native"] == ("refused", 1)
    refused = {role.role: role.reason for role in check_roles(ChatTemplateFile(STRICT)) if not role.renders}
    assert refused.keys() == {"system", "tool", "assistant with tool calls"}
    assert "must alternate" in refused["tool"]


@pytest.mark.parametrize(
    ("wrappers", "first_problem"),
    [("sliding_window", ("rewritten", 11)), ("concat_chat,time_limit", "needs the argument 'max_episode_steps'")],
)
def test_wrappers_that_shorten_are_found_and_those_that_cannot_be_made_are_named(
    wrappers: str, first_problem: Any
) -> None:
    """A window of ten turns rewrites the prompt at the eleventh."""
    if isinstance(first_problem, str):
        with pytest.raises(ArgumentError, match=first_problem):
            problems(GROWING, wrappers)
    else:
        assert problems(GROWING, wrappers, kinds=["text"], turns=20)["text"] == first_problem


@pytest.mark.parametrize("wrappers", ["", "concat", "episode_tracking"])
def test_wrappers_that_show_no_messages_are_refused(wrappers: str) -> None:
    """Plain text is no prompt of a chat model."""
    with pytest.raises(ArgumentError, match="show no history of chat messages"):
        problems(GROWING, wrappers)


def test_an_episode_may_end_before_the_last_turn() -> None:
    """Its last observation is in a prompt too."""
    import gem

    class Short(Env[str, str]):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            return "Question?", {}

        def step(self, action: str) -> Any:
            return "The end.", 1.0, True, False, {}

    gem.register("test:Short-v0", Short)
    try:
        (episode,) = check_prompts(ChatTemplateFile(GROWING), env_id="test:Short-v0", kinds=["text"])
    finally:
        gem.registry.unregister("test:Short-v0")
    assert (episode.holds, episode.turns) == (True, 1)


@given(st.text(max_size=30))
def test_any_text_is_a_template_or_a_clear_error(text: str) -> None:
    """Templates are strangers' files."""
    try:
        episodes = check_prompts(ChatTemplateFile(text), turns=2)
    except ArgumentError:
        return
    assert not all(episode.holds for episode in episodes)


def test_a_folder_holds_its_template_in_one_of_several_files(tmp_path: Path) -> None:
    """The file of its own counts before the configuration, in which special tokens are texts or dicts."""
    config = {
        "bos_token": {"content": "<bos>"},
        "eos_token": "<eos>",
        "chat_template": [{"name": "default", "template": "{{ eos_token }}"}, {"name": "rag", "template": "no"}],
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for source in (tmp_path, tmp_path / "tokenizer_config.json"):
        assert rendered(str(source)) == "<eos>"
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "{{ bos_token }}json"}))
    assert rendered(str(tmp_path)) == "<bos>json"
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}file")
    assert rendered(str(tmp_path)) == rendered(str(tmp_path / "chat_template.jinja")) == "<bos>file"


def rendered(source: str) -> str:
    text = read_tokenizer(source).apply_chat_template([], tokenize=False, add_generation_prompt=True)
    assert isinstance(text, str)
    return text


def test_a_template_reaches_nothing_of_the_process() -> None:
    """The sandbox refuses the ways out of Jinja."""
    with pytest.raises(ArgumentError, match="cannot render a conversation"):
        problems("{{ messages.__class__.__mro__[1].__subclasses__() }}")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("missing.jinja", None, "there is no file or folder"),
        ("broken.jinja", b"{% if %}", "cannot be parsed: TemplateSyntaxError"),
        ("binary.jinja", b"\xff\xfe\x00", "is not text in UTF-8"),
        ("empty.json", b"{}", "has no chat_template"),
        ("broken.json", b"{", "is not JSON"),
        ("list.json", b"[]", "must hold a JSON object"),
        (".", None, "holds no chat template"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_file(
    tmp_path: Path, file: str, content: bytes | None, message: str
) -> None:
    """One sentence, without a traceback."""
    if content is not None:
        (tmp_path / file).write_bytes(content)
    result = CliRunner().invoke(cli, ["check-template", str(tmp_path / file)])
    assert isinstance(result.exception, ArgumentError)
    assert message in str(result.exception)


def test_the_command_reports_and_ends_with_1_where_a_prompt_does_not_grow(tmp_path: Path) -> None:
    """As text for a person and as JSON for a program."""
    path = tmp_path / "chat_template.jinja"
    path.write_text(FORGETFUL)
    shown = CliRunner().invoke(cli, ["check-template", str(path)])
    assert shown.exit_code == 1
    assert "reasoning: the prompt after turn 1 does not hold the action as it was sampled" in shown.output
    report = json.loads(CliRunner().invoke(cli, ["check-template", str(path), "--json"]).output)
    assert [(episode["actions"], episode["holds"]) for episode in report["episodes"]] == [
        ("text", True),
        ("reasoning", False),
    ]
    assert not report["holds"]
    fine = CliRunner().invoke(cli, ["check-template", str(path), "--actions", "text"])
    assert fine.exit_code == 0
    assert "only grows" in fine.output


@pytest.mark.usefixtures("tool")
def test_arguments_of_the_template_are_passed_on(tmp_path: Path) -> None:
    """To the wrapper and to the messages rendered here; what is no JSON object is refused."""
    path = tmp_path / "chat_template.jinja"
    path.write_text("{{- raise_exception('off') if off }}" + GROWING)
    for wrappers in ("concat_chat", "messages"):
        command = ["check-template", str(path), "--wrappers", wrappers, "--template-args"]
        assert CliRunner().invoke(cli, [*command, '{"off": false}']).exit_code == 0
        assert CliRunner().invoke(cli, [*command, '{"off": true}']).exit_code == 1
        assert "not a JSON object" in CliRunner().invoke(cli, [*command, "[]"]).output


def test_the_wrapper_below_the_history_is_no_part_of_what_is_checked() -> None:
    """A wrapper of pictures and text: the texts must be in the prompt."""

    class Pictures(Wrapper[Any, Any]):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            observation, info = super().reset(seed=seed)
            return [{"type": "text", "text": observation}, {"type": "image_url", "image_url": {"url": "data:,"}}], info

    import gem
    from gem_rollout.chat_templates.prompt_check import _ChatExample

    gem.register("test:Pictures-v0", lambda: Pictures(_ChatExample()))
    try:
        template = GROWING.replace(
            "message.content }}", "(message.content if message.content is string else message.content[0].text) }}"
        )
        assert problems(template, env_id="test:Pictures-v0", kinds=["text"]) == {"text": HOLDS}
    finally:
        gem.registry.unregister("test:Pictures-v0")


_PUBLISHED = {
    # As the model cards of these families publish them; what holds and what does not is known to their users.
    "llama3": {"text": None, "reasoning": None},
    "qwen2_5": {"text": None, "reasoning": None},
    "gemma": {"text": None, "reasoning": None},
    "phi3": {"text": None, "reasoning": None},
    "qwen3": {"text": None, "reasoning": "changed"},
    "deepseek_r1_distill": {"text": "rewritten", "reasoning": "rewritten"},
    "gptoss": {"text": "changed", "reasoning": "changed"},
}


@pytest.mark.nightly
def test_templates_of_published_models_are_judged_as_their_users_know_them(
    published_template: Callable[[str], str],
) -> None:
    """Whether prompts only grow, for two kinds of actions."""
    for name, expected in _PUBLISHED.items():
        tokenizer = ChatTemplateFile(published_template(name), {"bos_token": "<s>", "eos_token": "</s>"})
        played = check_prompts(tokenizer)
        assert {episode.actions: episode.problem for episode in played} == expected, name
