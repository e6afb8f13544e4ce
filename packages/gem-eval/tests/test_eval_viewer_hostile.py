"""What models, environments and servers emit never becomes markup, code, or a request, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import BROWSER, Chromium, ChromiumPage

from gem.env_spec import EnvSpec
from gem_eval.runs import RunConfig, RunFolder
from gem_rollout.lineages import LineageTree, RecordedCall
from gem_rollout.lineages.tree import recorded_lineages
from gem_rollout.trajectory import Failure, Trajectory, Transition

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

View = Callable[..., ChromiumPage]

SVG = (
    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0id2luZG93Lm93bmVkPTEiLz4="
)

UNSEEN = (
    "\u202egnp.evil\u2066\u2069 \u200b\ufeff\x00\x07\x1b[31mred\x1b]8;;https://evil.example\x07link\x9b\u2028\u2029"
)

ATTACKS = [
    "<script>window.owned = 1; alert(1)</script>",
    "</script><script>window.owned = 1</script><!--",
    "<img src=x onerror=\"window.owned = 1; alert('img')\">",
    "<img src='https://evil.example/pixel.png'><link rel=stylesheet href='https://evil.example/x.css'>",
    "<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.owned = 1</script>'></iframe><object data='javascript:alert(1)'></object>",
    "<style>body { display: none; background: url(https://evil.example/css) }</style>",
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<a href='javascript:window.owned=1'>x</a><form action='https://evil.example/'><input autofocus onfocus=alert(1)>",
    "javascript:window.owned=1//",
    "'\"><b onmouseover=alert(1)>{{constructor.constructor('window.owned=1')()}}${window.owned=1}`${alert(1)}`",
    "__proto__",
    "constructor",
    UNSEEN,
    "\ud800 lone \udfff surrogates \udfff\ud800",
    "\U000e0041\U000e0042 tags, \ufffe\uffff",
    "a" + "\u0301" * 400 + " stacked marks",
    "]]> --> */ </style></textarea></title></noscript></template><plaintext>",
]

POISON = " ".join(ATTACKS)

PICTURES = [SVG, "javascript:alert(1)", "https://evil.example/a.png", "data:text/html,<script>alert(1)</script>",
            "data:image/png;base64,!!!", "data:image/png,<svg/onload=alert(1)>", "//evil.example/b.png",
            "data:image/png;base64,AAAA\" onerror=\"alert(1)", "blob:null/x", "file:///etc/passwd"]  # fmt: skip


def poisoned(seed: int) -> Trajectory:
    """Return an episode with attacks in every field that takes text."""
    poison = ATTACKS[seed % len(ATTACKS)]
    parts: list[dict[str, Any]] = [{"type": "text", "text": POISON}, {"type": poison, poison: poison}]
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in PICTURES]
    call = {"id": poison, "type": "function", "function": {"name": poison, "arguments": json.dumps({poison: POISON})}}
    message = {"role": "assistant", "content": POISON, "reasoning_content": POISON, "tool_calls": [call, {"id": None}]}
    first = [{"role": poison, "content": POISON}, {"role": "user", "content": parts}]
    second = [*first, message, {"role": "tool", "tool_call_id": poison, "name": poison, "content": POISON}]
    shared: dict[str, Any] = {
        "terminated": False,
        "truncated": False,
        "info": {poison: POISON, "nested": [{poison: None}], "__proto__": {"polluted": 1}},
        "tool_calls": [{"name": poison, "arguments": {poison: poison}, "result": POISON, "error": poison}, {}],
        "token_ids": [1, 2, 3, 4],
        "tokens": [poison, "\ud83d", "\ude00", "<b>"],
        "logprobs": [-0.1, -3.0, -1.0, -0.5],
        "top_logprobs": [[(poison, -0.1), ("<i>", -2.0)]] * 4,
        "usage": {"prompt_tokens": 5, "completion_tokens": 4},
        "finish_reason": poison,
        "reasoning": POISON,
        "model": poison,
        "version": poison,
        "metadata": {poison: POISON},
    }
    return Trajectory(
        EnvSpec(id="game:Thing-v0", entry_point="a:B"),
        seed,
        [
            Transition(observation=first, action=message, reward=-1.0, **shared),
            Transition(observation=second, action=POISON, reward=1.5, **shared),
        ],
        reset_info={poison: POISON},
        final_observation=POISON,
        agent=poison,
        # In an episode whose every part is looked at.
        metadata={"label": poison, **(poisoned_lineages(parts) if seed == 0 else {})},
        stop_reason=None if seed % 2 else poison,
        failure=Failure("agent", poison, POISON, 2) if seed % 2 else None,
        earlier_failures=[Failure("endpoint", poison, POISON, 1)],
        started_at=1e9,
        seconds=1.0,
        scores={poison: {"value": 0.5, "parts": {poison: 1.0}, "reasons": [POISON], "metadata": {poison: poison}}},
    )


def poisoned_lineages(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record of model calls with attacks in every field, in each place that a call can have in the tree."""
    tree = LineageTree()
    poison = f"{UNSEEN} {POISON}"  # in this order, for a name is cut before its end
    tool = {"id": poison, "type": "function", "function": {"name": poison, "arguments": json.dumps({poison: poison})}}
    figures: Any = {"prompt_tokens": poison, "completion_tokens": 5, "cached_tokens": {poison: poison}}
    for parent, tools, error in (
        (None, [poison], None),
        (0, [poison], None),
        (0, [poison, "act"], None),
        (None, [], None),
        (None, ["act"], None),
        (None, [], poison),
        (1, [], poison),
        (4, [], None),
    ):
        answer = {"role": poison, "content": poison, "tool_calls": [tool, {"id": None}] if parent else []}
        tree.add(
            RecordedCall(
                [{"role": poison, "content": parts}, {poison: poison}],
                answer=answer if error is None else None,
                parent=parent,
                began=poison if parent is None else None,
                tools=tools,
                finish_reason=poison,
                usage=figures,
                model=poison,
                version=poison,
                dialect=poison,
                seconds=1.0,
                turn=1,
                error=error,
                metadata={poison: poison, "notes": [poison], "__proto__": {"polluted": 1}},
            )
        )
    return recorded_lineages(tree)


@pytest.fixture
def poisoned_run(tmp_path: Path, make_config: Callable[..., RunConfig]) -> Callable[[str], RunFolder]:
    """A function that writes a run of poisoned episodes under a poisoned name."""

    def make(name: str) -> RunFolder:
        config = make_config(
            name=POISON,
            agent=POISON,
            model=POISON,
            packages={"gem-core": POISON},
            wrappers=(POISON,),
            sampling={POISON: POISON},
        )
        with RunFolder.create(tmp_path / name, config) as folder:
            for seed in range(len(ATTACKS)):
                folder.append(poisoned(seed))
        return RunFolder(folder.path)

    return make


SETTLED = "new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 30))"


def walk(page: ChromiumPage, *, runs: int, every: int = 1) -> None:
    """Look at everything that the page can show, of every so many episodes."""

    def go(address: str, until: str) -> None:
        page.evaluate(f"location.hash = {json.dumps(address)}")
        page.wait_for(until)
        page.evaluate(SETTLED)
        check(page)

    for run in range(runs):
        go(f"#/{run}", "document.querySelectorAll('.rows .row').length > 3")
        page.evaluate("document.querySelectorAll('[data-tip]').forEach((e) => "
                      "e.dispatchEvent(new PointerEvent('pointermove', {bubbles: true})))")  # fmt: skip
    for episode in range(0, len(ATTACKS), every):
        go(
            f"#/0/{episode}",
            f"location.hash === '#/0/{episode}' && document.querySelectorAll('.turn.drawn').length > 1",
        )
        if episode % (6 * every):
            continue
        for _ in range(2):  # what is drawn when a call of the model is opened has parts to open
            page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
            page.evaluate(SETTLED)
        page.evaluate("document.querySelectorAll('.kept, .more').forEach((e) => e.click())")
        page.evaluate("document.querySelectorAll('[data-token]').forEach((e) => "
                      "e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})))")  # fmt: skip
        for key in ("t", "e", "r", "r", "t", "e"):
            page.press(key)
            page.evaluate(SETTLED)
            check(page)
    if runs > 1:
        go("#/compare/0/1", "document.querySelectorAll('.rows .row').length > 3")
        go("#/compare/0/1/2/2", "document.querySelectorAll('.turn.drawn').length > 1")


def check(page: ChromiumPage) -> None:
    """Fail if anything of the episodes had an effect."""
    assert page.evaluate("window.owned") is None
    assert page.evaluate("({}).polluted") is None
    allowed = "document.querySelectorAll('body script:not([type=\"text/plain\"])').length <= 1"
    assert page.evaluate(allowed)
    assert (
        page.evaluate(
            "document.querySelectorAll('iframe, object, embed, base, form:not(.range form), body style').length"
        )
        == 0
    )
    assert page.evaluate("[...document.links].every((link) => link.getAttribute('href').startsWith('#'))")
    assert page.evaluate("[...document.images].every((image) => image.src.startsWith('data:image/png;base64,'))")
    handlers = "[...document.querySelectorAll('*')].some((e) => e.getAttributeNames().some((n) => n.startsWith('on')))"
    assert not page.evaluate(handlers)
    unseen = r"/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/"
    assert not page.evaluate(f"{unseen}.test(document.body.innerText)")
    assert not page.evaluate(f"{unseen}.test(document.title)")


@pytest.mark.slow(reason="pages in a browser")
def test_hostile_episodes_are_text(poisoned_run: Callable[[str], RunFolder], view: View) -> None:
    """Scripts, handlers, styles, addresses and control characters of episodes are shown, and do nothing."""
    page = view(poisoned_run("one"), poisoned_run("other"))
    walk(page, runs=2)
    page.evaluate("location.hash = '#/0/0'")
    page.wait_for("document.querySelectorAll('.turn.drawn').length > 1")
    assert "<script>window.owned = 1; alert(1)</script>" in page.text(".turn")
    assert "U+202E" in page.text(".turn")
    assert "\u2400" in page.text(".turn")
    page.evaluate("document.querySelectorAll('.model-call').forEach((e) => { e.open = true; })")
    page.wait_for("document.querySelectorAll('.model-call[open] .failure').length === 2")
    assert page.texts(".strand h3") == ["Main agent", "Branch of call 1", "Side calls", "Retry", "Unanswered"]
    assert "<script>window.owned = 1; alert(1)</script>" in page.text(".model-call[open] .observation")
    check(page)


@pytest.mark.slow(reason="pages in a browser")
def test_hostile_episodes_are_text_in_an_exported_page(
    poisoned_run: Callable[[str], RunFolder], chromium: Chromium, tmp_path: Path
) -> None:
    """The same holds for an exported page opened as a file, which asks for nothing at all."""
    from gem_eval.viewer.export import export_page

    target = tmp_path / "page.html"
    target.write_bytes(export_page([poisoned_run("one"), poisoned_run("other")]).content)
    page = chromium.page()
    page.goto(target.as_uri())
    page.wait_for("document.documentElement.dataset.ready")
    walk(page, runs=2, every=3)
    assert {request for request in page.requests if not request.startswith("data:")} == {target.as_uri()}
    assert not page.errors
    assert not page.dialogs
    page.close()


def test_a_policy_backs_the_page_up(poisoned_run: Callable[[str], RunFolder], view: View) -> None:
    """Even a mistake in the page's own scripts could not turn text into markup or code, or ask another server."""
    page = view(poisoned_run("one"))
    for mistake in (
        "document.body.innerHTML = '<img src=x onerror=window.owned=1>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
        "new Function('window.owned = 1')()",
        "document.body.append(Object.assign(document.createElement('iframe'), {srcdoc: '<script>1</script>'}))",
    ):
        with pytest.raises(RuntimeError, match=r"TrustedHTML|TrustedScript|EvalError"):
            page.evaluate(mistake)
    with pytest.raises(RuntimeError, match="Failed to fetch"):
        page.evaluate("fetch('http://127.0.0.1:9/').then(() => 1)")
    assert page.evaluate("window.owned") is None
    page.requests[:] = [request for request in page.requests if ":9/" not in request]
    page.errors.clear()  # the breaches above, which are meant


@pytest.mark.nightly
def test_huge_texts_are_cut(tmp_path: Path, make_config: Callable[..., RunConfig], view: View) -> None:
    """A text of 10 MB is shown in parts, so that the page stays small and quick."""
    huge = "0123456789" * 1_000_000
    episode = Trajectory(
        EnvSpec(id="game:Thing-v0", entry_point="a:B"),
        0,
        [Transition(observation=huge, action={"role": "assistant", "content": "\u202e" * 10_000_000}, reward=0.0,
                    terminated=True, truncated=False, info={"log": huge})],
        final_observation="",
    )  # fmt: skip
    with RunFolder.create(tmp_path / "huge", make_config()) as folder:
        folder.append(episode)
    page = view(RunFolder(folder.path), at="#/0/0")
    page.wait_for("document.querySelector('.turn.drawn')")
    assert page.evaluate("document.body.textContent.length") < 100_000
    before = page.evaluate("document.querySelector('.observation .text').textContent.length")
    page.click(".observation .more")
    after = page.evaluate("document.querySelector('.observation .text').textContent.length")
    assert before < after < 1_000_000
    page.press("r")
    page.wait_for("document.querySelector('.raw')")
    assert page.evaluate("document.body.textContent.length") < 100_000
