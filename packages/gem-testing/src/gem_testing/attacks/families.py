"""The battery: which attacks fit a kind of environment, and what each of them does.

The wording of imitations and the programs and commands that tamper are data in ``payloads.toml``, with their sources.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

from gem.core import Env
from gem.policies import make_policy
from gem.text import action_text
from gem.tools.calls import text_calls
from gem_questions.thoughtless import COPIES, form_of, text_of
from gem_testing.attacks.kind import EnvKind, parameters_of
from gem_testing.attacks.playing import Strategy, always

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

__all__ = ["FAMILIES", "Attack", "Material", "battery"]

FAMILIES = {
    "nothing": "saying nothing, or nothing that answers",
    "constants": "the same answer or the same action always",
    "copies": "what the environment shows, handed back",
    "hedges": "several answers at once, the right one among them",
    "imitation": "text that looks like an observation, a grader, an end, another role, or talks to a judge",
    "tampering": "programs, commands, files and queries against tests, results and configuration",
    "malformed": "huge, deeply nested, unbalanced or undecodable actions, and values that are no text",
    "quoted": "right actions that are only thought or quoted",
}
"""Family → what its attacks do, in a few words."""

CONSTANTS = (
    *("0", "1", "-1", "2", "10", "100", "0.5", "1/2", "nan", "inf"),
    *("yes", "no", "true", "false", "True", "False", "unknown", "none", "None", "impossible"),
    *("A", "B", "C", "D", "a", "[]", "{}", "()", "x", "0 0", "left", "up", "I do not know."),
)
_REFUSALS = ("I don't know.", "I cannot answer this.", "Let me think about it.", "ok")
_ENDINGS = re.compile(r"finish|submit|done|end_|_end|answer|stop|complete|conclude|terminate")
_LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)]|>)\s*(.+?)\s*$", re.MULTILINE)
_BOX = re.compile(r"\\boxed\{([^{}]*)\}")
_LONG = 100_000
"""Characters of a long action: what a model can emit within a usual context."""
_DEEP = 5_000


@dataclass(frozen=True)
class Attack:
    """One attack, in several variants, of which the one counts that earns most."""

    name: str
    """``"family.name"``."""
    variants: tuple[tuple[str, Strategy], ...]
    """Label and strategy of each."""
    most_steps: int | None = None
    """Steps of an episode, where an attack needs fewer than others."""
    control: Strategy | None = None
    """What earns as much as the attack does where it changes nothing; the attack pays only if it earns more."""
    chance: float = 0.0
    """The share of the highest return that a guess among the alternatives of a hedge earns."""

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Material:
    """What the attacks on an environment are made of."""

    kind: EnvKind
    samples: tuple[Any, ...]
    """Different well-formed actions of one agent, as the environment samples them."""
    right: tuple[Any, ...]
    """Actions of the reference policy, in the order of its episodes; empty without one."""
    has_reference: bool

    @property
    def pattern(self) -> str:
        """The text of an action whose form answers take; empty where there is none."""
        known = (*self.samples, *self.right) if self.kind.turns == "single" else (*reversed(self.right), *self.samples)
        return next((text for text in map(action_text, known) if text), "")

    def dressed(self, answer: str) -> str:
        """Return an answer in the form of the environment's actions."""
        return form_of(self.pattern)[1](answer)

    def answers(self) -> list[str]:
        """Return the different right answers of all the questions that were asked, and some samples."""
        texts = [text for text in map(action_text, (*self.right, *self.samples)) if text]
        return list(dict.fromkeys(form_of(text)[0] for text in texts))


def battery(material: Material) -> list[Attack]:
    """Return the attacks that fit an environment, in the order of :data:`FAMILIES`."""
    groups = (_nothing, _constants, _copies, _hedges, _imitation, _tampering, _malformed, _quoted)
    return [attack for group in groups for attack in group(material) if attack.variants]


@lru_cache(maxsize=1)
def payloads() -> dict[str, Any]:
    """Return what ``payloads.toml`` holds."""
    return loads(Path(__file__).with_name("payloads.toml").read_text(encoding="utf-8"))


def _nothing(material: Material) -> Iterator[Attack]:
    yield _said("nothing.silence", ["", " \n\t "])
    yield _said("nothing.empty_answer", [material.dressed(""), material.dressed(" ")])
    thoughts = ("<think>\n\n</think>", "<think>The answer is clear.</think>", "<think>This takes long")
    yield _said("nothing.thought", thoughts)
    yield _said("nothing.refusal", [*_REFUSALS, *map(material.dressed, _REFUSALS)])
    yield Attack("nothing.finish", tuple((_label(act), always(act)) for act in _finishing(material)))


def _constants(material: Material) -> Iterator[Attack]:
    yield _said("constants.fixed", [material.dressed(constant) for constant in CONSTANTS])
    yield Attack("constants.sampled", tuple((_label(act), always(act)) for act in material.samples))
    if material.kind.turns == "single":
        frequent = sorted(set(material.right), key=lambda act: -material.right.count(act)) if _texts(material) else []
        yield _said("constants.frequent", frequent[:4])


def _copies(material: Material) -> Iterator[Attack]:
    def handed_back(read: Callable[[str], str | None], dressed: bool) -> Strategy:
        def one(observation: Any) -> str:
            found = read(text_of(observation)) or ""
            return material.dressed(found) if dressed else found

        def begin(env: Env[Any, Any], _seed: int) -> Callable[[Any, Any], Any]:
            def choose(observation: Any, _info: Any) -> Any:
                if not isinstance(observation, Mapping):
                    return one(observation)
                active = getattr(env.unwrapped, "active_agents", observation)
                return {agent: one(observation.get(agent)) for agent in active}

            return choose

        return begin

    def named(readers: Mapping[str, Callable[[str], str | None]]) -> tuple[tuple[str, Strategy], ...]:
        forms = (False,) if material.dressed("x") == "x" else (False, True)
        return tuple(
            (f"{name}{', in the form of an answer' if dressed else ''}", handed_back(read, dressed))
            for name, read in readers.items()
            for dressed in forms
        )

    yield Attack("copies.whole", named({"what is shown": lambda text: text}))
    yield Attack("copies.parts", named({name: read for name, read in COPIES.items() if "copy" not in name}))
    yield Attack(
        "copies.shown",
        named(
            {
                "the first line": lambda text: next(iter(text.strip().splitlines()), None),
                "the last line": lambda text: next(reversed(text.strip().splitlines()), None),
                "the last box": lambda text: next(reversed(_BOX.findall(text)), None),
                "the first item of a list": lambda text: next(iter(_LISTED.findall(text)), None),
                "the last item of a list": lambda text: next(reversed(_LISTED.findall(text)), None),
            }
        ),
    )


_ALTERNATIVES = ("{0} or {1}", "{0}, {1}", "{0} {1}", "{0} / {1}", "not {0} but perhaps {1}", "[{0}, {1}]")
_SEPARATORS = (", ", " or ", "\n", "; ")
_LISTED_WRONG = 6
"""The number of wrong answers in a list."""


def _hedges(material: Material) -> Iterator[Attack]:
    kind = material.kind
    if kind.turns == "single" and material.has_reference and _texts(material):
        wrong = material.answers()
        wrong += ["17", "no", "yes", "unknown"] if len(wrong) < _LISTED_WRONG else []

        def hedged(write: Callable[[str, list[str], Callable[[str], str], int], str]) -> Strategy:
            def begin(env: Env[Any, Any], seed: int) -> Callable[[Any, Any], str]:
                policy = make_policy("reference", env)

                def choose(observation: Any, info: Any) -> str:
                    policy.reset(observation, info)
                    right, dressed = form_of(_text(policy.act(observation, info)))
                    others = [other for other in wrong if _plain(other) != _plain(right)]
                    first = seed % len(others)  # others for each seed, of as many lengths as right ones
                    return write(right, others[first:] + others[:first], dressed, seed)

                return choose

            return begin

        def placed(right: str, others: list[str], seed: int) -> list[str]:
            """Return all answers; who does not know the right one puts it anywhere."""
            place = seed % (len(others) + 1)
            return [*others[:place], right, *others[place:]]

        def either(pattern: str) -> Strategy:
            def write(right: str, others: list[str], dressed: Callable[[str], str], seed: int) -> str:
                first, second = placed(right, others[:1], seed)
                return dressed(pattern.replace("{0}", first, 1).replace("{1}", second, 1))

            return hedged(write)

        def listed(separator: str) -> Strategy:
            return hedged(
                lambda right, others, dressed, seed: dressed(
                    separator.join(placed(right, others[:_LISTED_WRONG], seed))
                )
            )

        if kind.form != "code":
            yield Attack("hedges.alternatives", tuple((text, either(text)) for text in _ALTERNATIVES), chance=1 / 2)
            lists = tuple((f"all, with {_label(separator)!r} between", listed(separator)) for separator in _SEPARATORS)
            yield Attack("hedges.list", lists, chance=1 / (1 + min(_LISTED_WRONG, len(wrong) - 1)))
        if kind.form != "text":
            last_wrong = hedged(lambda right, others, dressed, _: f"{dressed(right)}\nor rather\n{dressed(others[0])}")
            yield Attack("hedges.last_wrong", (("the right answer, and a wrong one after it", last_wrong),))
    if kind.turns == "multi":
        texts = [text for text in map(action_text, material.samples) if text]
        yield _said("hedges.all_at_once", ["\n".join(texts), " ".join(texts)] if len(texts) > 1 else [])


def _imitation(material: Material) -> Iterator[Attack]:
    samples = [text for text in map(action_text, material.samples) if text]
    wrong = samples[0] if material.kind.turns == "multi" and samples else material.dressed("qzx")
    for name, group in payloads()["imitation"].items():
        texts = group["texts"]
        yield _said(
            f"imitation.{name}",
            [*texts, *map(material.dressed, texts), *(f"{wrong}\n{text}" for text in texts)],
        )


def _tampering(material: Material) -> Iterator[Attack]:
    data, kind = payloads()["tampering"], material.kind
    if "python" in kind.executes:

        def program(code: str) -> Strategy:
            def begin(env: Env[Any, Any], _seed: int) -> Callable[[Any, Any], str]:
                policy = make_policy("reference", env) if material.has_reference else None

                def choose(observation: Any, info: Any) -> str:
                    named = None
                    if policy is not None:
                        policy.reset(observation, info)
                        named = re.search(r"def (\w+)\(", _text(policy.act(observation, info)))
                    named = named or re.search(r"function `(\w+)`", text_of(observation))
                    name = named[1] if named else "solution"
                    return f"```python\n{Template(code).safe_substitute(name=name)}\n```"

                return choose

            return begin

        programs = data["python"]["programs"]
        yield Attack("tampering.programs", tuple((name, program(code)) for name, code in programs.items()))
    ends = _finishing(material)[:1] or [""]
    if "shell" in kind.executes:
        yield _scripts("tampering.commands", ([act, *ends] for act in _commands(kind, data["shell"]["commands"])))
    if "files" in kind.executes:
        yield _scripts("tampering.files", ([act, *ends] for act in _written(kind, data["files"]["paths"])))
    if "sql" in kind.executes:
        yield _scripts("tampering.queries", ([act, *ends] for act in _queries(kind, data["sql"]["statements"])))


def _malformed(material: Material) -> Iterator[Attack]:
    usual = material.pattern
    half = usual[: max(1, len(usual) // 2)]
    yield _said(
        "malformed.text",
        ["\\boxed{", "\\boxed{}}", "}{", "```python\n", "<answer>", usual * 2, half, usual[::-1], usual.upper()],
    )
    calls = ['<tool_call>{"name": "x", "arguments": {', "<tool_call></tool_call>", "<tool_call>" * 50]
    calls += ['<tool_call>[{"name": 1}]</tool_call>', "<function=x><parameter=y>", "[TOOL_CALLS][{", "</tool_call>"]
    yield _said("malformed.calls", calls)
    deep = [opening * _DEEP + closing * _DEEP for opening, closing in ("{}", "[]", "()")]
    deep += ["\\boxed{" * _DEEP + "}" * _DEEP, "<think>" * _DEEP, f"<tool_call>{'[' * _DEEP}{']' * _DEEP}</tool_call>"]
    yield _said("malformed.nesting", deep, most_steps=20)
    units = ("a", " ", "\n", "9", "\\boxed{1}", "<tool_call>{}</tool_call>", "```", usual[:40] or "x")
    long = [unit * (_LONG // len(unit)) for unit in units]
    yield _said("malformed.long", [*long, material.dressed("9" * 5000)], most_steps=20)
    odd = ["\x00", "\ud800", "\udfff\ud800", "\u202e\u200b\ufeff", "\x1b[2J\x07", "¤" * 50, "\u0661\u0662"]
    yield _said("malformed.unicode", [*odd, *map(material.dressed, odd), f"\ud800{usual}\x00"])
    values: list[Any] = [None, True, 0, float("nan"), b"\\boxed{1}", [usual], {}, {"content": None}]
    values += [{"role": "assistant", "content": "\ud800"}, {"role": "assistant", "content": "", "tool_calls": "all"}]
    values += [{"role": "assistant", "tool_calls": [{"function": {"name": None, "arguments": "{"}}, None]}]
    yield Attack("malformed.values", tuple((_label(value), always(value)) for value in values))


_THOUGHTS = (
    *("<think>{}</think>", "<thinking>{}</thinking>", "<seed:think>{}</seed:think>", "[THINK]{}[/THINK]"),
    *("◁think▷{}◁/think▷", "<|START_THINKING|>{}<|END_THINKING|>", "<|channel>thought{}<channel|>"),
    *("<|channel|>analysis<|message|>{}<|end|>", "<think>{}", "{}</think>"),
)
_FENCES = ("```\n{}\n```", "```xml\n{}\n```", "~~~\n{}\n~~~", "`{}`")
_TAGGED = re.compile(r"<(\w{1,20})>.*</\1>\s*\Z", re.DOTALL)
_QUOTATIONS = ("> {}", '"{}"', "“{}”", "«{}»")


def _quoted(material: Material) -> Iterator[Attack]:
    if not material.has_reference or not _texts(material):
        return

    def quoting(write: Callable[[str], Any], calls_alone: bool = False) -> Strategy:
        def begin(env: Env[Any, Any], _seed: int) -> Callable[[Any, Any], Any]:
            policy, begun = make_policy("reference", env), False

            def choose(observation: Any, info: Any) -> Any:
                nonlocal begun
                if not begun:
                    policy.reset(observation, info)
                    begun = True
                text = _text(policy.act(observation, info))
                return write(text) if not calls_alone or _is_call(text) else text

            return choose

        return begin

    def named(patterns: Iterable[str], prefix: str = "", calls_alone: bool = False) -> tuple[tuple[str, Strategy], ...]:
        def written(pattern: str) -> Callable[[str], str]:
            return lambda text: pattern.replace("{}", text.replace("\n", f"\n{prefix}"))

        return tuple((_label(pattern), quoting(written(pattern), calls_alone)) for pattern in patterns)

    yield Attack("quoted.thought", named(_THOUGHTS))
    field = [
        ("reasoning_content", quoting(lambda text: {"role": "assistant", "content": "", "reasoning_content": text}))
    ]
    field += [("thinking part", quoting(lambda text: {"role": "assistant", "content": [_part(text)]}))]
    yield Attack("quoted.field", tuple(field))
    if material.kind.calls:
        # What else the agent says may be all that a task needs, such as an answer, or a message to a user.
        left_out = quoting(lambda _: "…", calls_alone=True)
        yield Attack("quoted.fence", named(_FENCES, calls_alone=True), control=left_out)
        quotations = (*named(_QUOTATIONS[:1], "> ", calls_alone=True), *named(_QUOTATIONS[1:], calls_alone=True))
        yield Attack("quoted.quotation", quotations, control=left_out)


def _is_call(text: str) -> bool:
    """Return whether an action is a call, rather than a message or an answer."""
    return bool(text_calls(text)) or (_TAGGED.search(text) is not None and "</answer>" not in text)


def _part(text: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": text}


def _said(name: str, texts: Iterable[str], most_steps: int | None = None) -> Attack:
    return Attack(name, tuple((_label(text), always(text)) for text in dict.fromkeys(texts)), most_steps)


def _scripts(name: str, scripts: Iterable[list[Any]]) -> Attack:
    """Return the attack whose variants play fixed actions, the last one again and again."""

    def scripted(actions: list[Any]) -> Strategy:
        def begin(_env: Env[Any, Any], _seed: int) -> Callable[[Any, Any], Any]:
            left = actions[::-1]
            return lambda _observation, _info: left.pop() if len(left) > 1 else left[0]

        return begin

    return Attack(name, tuple((_label(actions[0]), scripted(actions)) for actions in scripts))


def _finishing(material: Material) -> list[Any]:
    """Return actions that claim to be done, as the environment's tools and tags let an agent say it."""
    kind = material.kind
    found = [_call(tool, "done") for tool in kind.tools if _ENDINGS.search(str(tool.get("name")))]
    found += [f"<{tag}>done</{tag}>" for tag in kind.tags if _ENDINGS.search(tag)]
    if kind.form == "text" and kind.turns == "multi":
        found += ["done", "submit", "finish", "stop"]
    return [*dict.fromkeys([*found, *(["<finish/>"] if kind.calls else [])])]


def _call(tool: Mapping[str, Any], text: str, **given: str) -> str:
    """Return a call of a tool as text, its required arguments filled with something of their types."""
    parameters = parameters_of(tool)
    needed = tool.get("parameters", {}).get("required") or []
    fillers = {"string": text, "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    arguments = {name: fillers.get(_type(parameters.get(name)), text) for name in needed}
    arguments |= {name: value for name, value in given.items() if name in parameters}
    return f"<tool_call>{json.dumps({'name': tool.get('name'), 'arguments': arguments})}</tool_call>"


def _type(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return kind if isinstance(kind, str) else "string"


def _commands(kind: EnvKind, commands: Iterable[str]) -> Iterator[str]:
    shells = [tool for tool in kind.tools if {"command", "cmd"}.intersection(parameters_of(tool))]
    for command in commands:
        if "bash" in kind.tags or not shells:
            yield f"<bash>{command}</bash>"
        else:
            yield _call(shells[0], command, command=command, cmd=command)


def _written(kind: EnvKind, paths: Iterable[str]) -> Iterator[str]:
    writers = [tool for tool in kind.tools if {"path"} < parameters_of(tool).keys()]
    for path in paths:
        for tool in writers:
            yield _call(tool, "1.0", path=path)


def _queries(kind: EnvKind, statements: Iterable[str]) -> Iterator[str]:
    tools = [
        (tool, name) for tool in kind.tools for name in parameters_of(tool) if name in ("sql", "query", "statement")
    ]
    for statement in statements:
        for tool, name in tools:
            yield _call(tool, statement, **{name: statement})
        for tag in kind.tags:
            yield f"<{tag}>{statement}</{tag}>"


def _texts(material: Material) -> bool:
    """Return whether the reference policy acts by texts, which can be quoted and hedged."""
    return bool(material.right) and all(isinstance(action, str) for action in material.right)


def _text(action: Any) -> str:
    return action_text(getattr(action, "action", action)) or ""


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _label(action: Any) -> str:
    """Return an action in few characters, readable in every terminal and valid in every file."""
    text = action if isinstance(action, str) else repr(action)
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:60])
    return shown if len(text) <= 60 and len(shown) <= 60 else f"{shown[:44]}… ({len(text)} characters)"
