"""The page of gem view in a real browser: table, plots, conversations, comparison, live runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import BROWSER, ChromiumPage

from gem_eval.runs import RunConfig, RunFolder
from gem_eval.statistics import summarize_run
from gem_eval.viewer.episode_filter import matching_rows
from gem_rollout.lineages import LineageTree, RecordedCall
from gem_rollout.lineages.tree import recorded_lineages
from gem_rollout.trajectory import Trajectory
from gem_rollout.trajectory.outcome import counted_text

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

MakeRun = Callable[..., RunFolder]
View = Callable[..., ChromiumPage]


def test_the_table_shows_every_episode(make_run: MakeRun, view: View) -> None:
    """Each episode has a row, with a link to its conversation."""
    page = view(make_run(episodes=6, group=2))
    assert page.evaluate("document.querySelector('[role=table]').getAttribute('aria-rowcount')") == "7"
    assert len(page.texts(".rows .row")) == 6
    page.click(".rows .row a")
    page.wait_for("location.hash === '#/0/0' && document.querySelector('.turn.drawn')")
    assert "Turn 0: guess a number" in page.text(".turn")


def test_the_page_says_why_a_run_scores_nothing(make_run: MakeRun, view: View) -> None:
    """A fault of both environments is one hint, as the command line prints it, and a column of their table."""
    envs = ("game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy")
    run = make_run(env=envs, episodes=9, skill=-1.0, turns=1, info={"action_status": "malformed"})
    page = view(run)
    hints = [note for note in page.texts(".notes li") if "malformed" in note]
    assert hints == summarize_run(run.rows()).hints
    cells = page.texts(".by-environment tr:nth-child(2) > *")
    table = dict(zip(page.texts(".by-environment th[scope=col]"), cells, strict=True))
    assert (table["Environment"], table["Malformed"]) == (envs[1], "9 of 9")
    alone = view(make_run("alone", episodes=9, skill=-1.0, turns=1, info={"action_status": "malformed"}))
    assert "Distinct answers" in alone.text(".figures")


def test_a_share_on_the_page_has_its_count_and_its_bounds(make_run: MakeRun, view: View, tmp_path: Path) -> None:
    """Of the whole run, a part of it, each environment of several and their mean, in the words of the tables."""
    page = view(make_run(episodes=4, group=2, failures=1, skill=2.0))
    assert "3 of 3 + 1 unknown: 75.0 … 100.0 %" in page.text(".figures")
    page.evaluate("location.hash = '#/0?seed=0'")
    page.wait_for(
        "document.querySelector('.figures').textContent.includes('1 of 1 + 1 unknown: 50.0 … 100.0 %, filtered')"
    )
    several = view(
        make_run("several", env=("game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy"), episodes=2, failures=1)
    )
    summary = summarize_run(RunFolder(tmp_path / "several").rows())
    cells = several.texts(".by-environment td:nth-child(5)")
    assert cells == [counted_text(item.success_count, 1, item.success_unknown) for item in summary.environments]
    assert all(" + 1 unknown: " in cell for cell in cells)
    assert summary.together.estimate is not None
    headline = several.text(".figures .wide")
    assert f"{100 * summary.together.estimate.value:.0f}%" in headline
    assert f" … 100%, {summary.together.counted}; environments weigh the same" in headline
    for counts in ((3, 4, 0), (3, 4, 2), (0, 0, 2), (1, 8, 8), (1, 8, 3), (1337, 4001, 1)):
        found = several.evaluate(
            f"import(new URL('page/format.js', document.baseURI)).then((one) => one.countedText(...{list(counts)}))"
        )
        assert found == counted_text(*counts)


def test_rows_stand_in_order_of_seed_and_faulty_turns_are_named(
    make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig], view: View, tmp_path: Path
) -> None:
    """Whatever order they ended in; a turn that could not be read, or was cut, says so in its head and beside it."""
    with RunFolder.create(tmp_path / "run", make_config(episodes=12)) as folder:
        for seed in (10, 2, 1):
            episode = make_trajectory(seed=seed, turns=3)
            if seed == 2:
                episode.transitions[1].info["action_status"] = "malformed"
                episode.transitions[2].finish_reason = "length"
            folder.append(episode)
    page = view(RunFolder(tmp_path / "run"))
    assert page.texts(".rows .row > :nth-child(2)") == ["1", "2", "10"]
    page.goto(page.evaluate("location.href.split('#')[0]") + "#/0/1")
    page.wait_for("document.querySelectorAll('.turn').length > 2")
    assert [page.texts(f".turn[data-index='{turn}'] .chip.fault") for turn in range(3)] == [
        [],
        ["malformed"],
        ["cut off"],
    ]
    facts = page.text(".facts-list")
    assert "Malformedturn 2" in facts
    assert "Cut offturn 3" in facts
    assert page.texts(".tick.fault .number") == ["2", "3"]
    page.click(".facts-list a.fault")
    page.wait_for("location.hash === '#/0/1/2' && document.querySelector('.turn.current h2').textContent === 'Turn 2'")


@pytest.mark.nightly
def test_the_page_tells_what_was_cached_and_when_the_first_token_came(
    make_trajectory: Callable[..., Trajectory],
    make_config: Callable[..., RunConfig],
    make_run: MakeRun,
    view: View,
    tmp_path: Path,
) -> None:
    """Of the run with the count of calls, of each episode in the table, a dash where the server said nothing."""
    with RunFolder.create(tmp_path / "served", make_config(episodes=2)) as folder:
        for seed in range(2):
            episode = make_trajectory(seed=seed, turns=1)
            turn = episode.transitions[0]
            turn.usage = {"prompt_tokens": 64, "completion_tokens": 8, **({"cached_tokens": 48} if seed else {})}
            turn.metadata = {"first_token_seconds": 0.25} if seed else {}
            folder.append(episode)
    page = view(RunFolder(tmp_path / "served"))
    figures = " ".join(page.text(".figures").split())
    assert "75%of 64 prompt tokens in 1 of 2 calls" in figures
    assert "250 msp95 250 ms, 1 of 2 calls" in figures
    heads = page.texts("[role=columnheader]")
    rows = [page.texts(f".rows .row:nth-child({number}) > *") for number in (1, 2)]
    shown = {tuple(row[heads.index(name)] for name in ("Cached", "First token")) for row in rows}
    assert shown == {("75%", "250 ms"), ("–", "–")}
    assert not page.errors
    silent = view(make_run("silent"))
    assert "Cached" not in silent.text(".figures") + "".join(silent.texts("[role=columnheader]"))


def test_the_keyboard_steps_through_turns_and_episodes(make_run: MakeRun, view: View) -> None:
    """J and k go to the next and previous turn, n and p to the next and previous episode."""
    page = view(make_run(episodes=3, turns=4), at="#/0/1")
    page.wait_for("document.querySelectorAll('.turn').length > 3")
    page.press("j", "j", "k")
    assert page.evaluate("location.hash") == "#/0/1/1"
    page.press("j")
    assert page.evaluate("document.querySelector('.turn.current h2').textContent") == "Turn 2"
    page.press("n")
    page.wait_for("location.hash === '#/0/2'")
    page.press("p", "p")
    page.wait_for("location.hash === '#/0/0'")


def rows_shown(page: ChromiumPage) -> int:
    """Return how many rows the table has, seen or not."""
    return int(page.evaluate("document.querySelector('[role=table]').getAttribute('aria-rowcount')")) - 1


def test_only_the_rows_in_the_window_are_drawn(make_run: MakeRun, view: View) -> None:
    """Wherever one scrolls in a long table, its document holds the rows of a window, numbered for a screen reader."""
    page = view(make_run(episodes=1500, turns=1, tokens=0))
    assert rows_shown(page) == 1500
    assert page.evaluate("document.querySelectorAll('.rows .row').length") < 60
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for("document.querySelector('[aria-rowindex=\"1501\"]')")
    assert page.evaluate("document.querySelectorAll('.rows .row').length") < 60
    indices = page.evaluate("[...document.querySelectorAll('.rows .row')].map((row) => +row.ariaRowIndex)")
    assert indices == sorted(indices)
    page.press("End")  # the keys work from wherever the focus is
    page.press("k")
    page.wait_for("document.activeElement.matches('a.open')")


def test_a_click_on_a_heading_sorts(make_run: MakeRun, view: View) -> None:
    """A column sorts downwards, upwards and not at all; the address says so, and so does the heading."""
    run = make_run(episodes=20)
    page = view(run)
    heading = ".head [role=columnheader]:nth-child(4)"
    assert page.text(heading) == "Return" or page.texts(".head [role=columnheader]")[3] == "Return"
    returns = [row.episode_return for row in run.rows()]
    shown = "[...document.querySelectorAll('.rows .row')].map((row) => +row.children[3].textContent)"
    for direction, expected in [
        ("descending", sorted(returns, reverse=True)),
        ("ascending", sorted(returns)),
        ("none", returns),
    ]:
        page.click(f"{heading} button")
        assert page.evaluate(f"document.querySelector('{heading}').ariaSort") == direction
        assert page.evaluate(shown) == expected[: len(page.evaluate(shown))]
    page.goto(page.evaluate("location.href.split('#')[0]") + "#/0?sort=-turns")
    page.wait_for("document.querySelector('[aria-sort=descending]')")


def test_unknown_values_come_last(make_run: MakeRun, view: View) -> None:
    """Whichever way a column is sorted, the rows without a value follow those with one, equal ones in their order."""
    page = view(make_run())
    for down, expected in (("true", [2, 5, 1, 4, 0, 3]), ("false", [1, 4, 5, 2, 0, 3])):
        order = page.evaluate(
            f"""import(new URL("page/virtual_table.js", document.baseURI)).then(({{ sorted }}) =>
              sorted([0, 1, 2, 3, 4, 5], {{ value: (row) => [null, 1, 3, null, 1, 2][row] }}, {down}))"""
        )
        assert order == expected, down


def test_a_click_on_a_bar_filters_the_table(make_run: MakeRun, view: View) -> None:
    """A bar of a plot leaves the episodes that it counts; the condition can be taken away again."""
    run = make_run(episodes=60)
    page = view(run)
    page.wait_for("document.querySelectorAll('.plot').length === 6")
    page.click(".plot:nth-of-type(2) .bar:nth-of-type(3)")  # turns
    expected = [row for row in run.rows() if row.turns == 3]
    page.wait_for(f"document.querySelector('.result').textContent.startsWith('{len(expected)} of 60')")
    assert "turns=3" in page.evaluate("location.hash")
    page.click(".chips .chip.set")
    page.wait_for("document.querySelector('.result').textContent === '60 episodes'")


CONDITIONS = [
    {"outcome": "solved"},
    {"outcome": "failed"},
    {"text": "seed 3"},
    {"text": "GUESS 4"},
    {"text": "server_error"},
    {"return": "0.5..1"},
    {"return": "..0"},
    {"turns": "2..4", "outcome": "unsolved"},
    {"turns": "3"},
    {"turns": "2..<4"},
    {"tokens": "10.."},
    {"seconds": "1..3"},
    {"group": "0.5..1"},
    {"group": "1"},
    {"seed": "2"},
    {"seed": "1"},
    {"seed": "1..3"},
    {"seed": "..<2"},
    {"text": "seed=0..3"},
    {"text": "seed=1.. outcome=solved guess"},
    {"text": "turns=2..4 seed=5"},
    {"text": "nothing=5"},
    {"text": "env=game:GuessTheNumber-v0-easy stop=terminated"},
    {"failure": "endpoint: server_error"},
    {"stop": "terminated"},
    {"env": "game:GuessTheNumber-v0-easy", "return": "1"},
    {"env": "nothing"},
]


def test_the_page_and_the_export_filter_alike(make_run: MakeRun, view: View) -> None:
    """Every condition means the same in the address of the page and for gem view --export --filter."""
    run = make_run(episodes=48, group=4, failures=5)
    page = view(run)
    numbers = {row.offset: number for number, row in enumerate(run.rows(attempts=True))}
    for conditions in CONDITIONS:
        found = page.evaluate(
            f"""(async () => {{
              const at = (name) => import(new URL(`page/${{name}}.js`, document.baseURI));
              const {{ filtered }} = await at("filter");
              const [{{ Run }}, {{ openSource }}] = await Promise.all([at("run"), at("source")]);
              const run = new Run(openSource(), 0, {{}});
              await run.refresh();
              return filtered(run, {json.dumps(conditions)});
            }})()"""
        )
        expected = [numbers[row.offset] for row in matching_rows(run.rows(), conditions)]
        assert sorted(found) == expected, conditions


def test_a_conversation_shows_all_parts_of_a_turn(
    tmp_path: Path, make_config: Callable[..., RunConfig], make_trajectory: Callable[..., Trajectory], view: View
) -> None:
    """Observation, reasoning, tool call, result, reward, tokens with their alternatives, picture, failure and score."""
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501
    episode = make_trajectory(turns=2, tokens=5)
    turn = episode.transitions[0]
    turn.observation = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": pixel}}]
    turn.reasoning = "Let me think."
    call = {"id": "c", "type": "function", "function": {"name": "python", "arguments": '{"code": "1 + 1"}'}}
    turn.action = {"role": "assistant", "content": "I compute.", "tool_calls": [call]}
    turn.tool_calls = [{"name": "python", "arguments": {"code": "1 + 1"}, "result": "2"}]
    turn.reward = -0.5
    episode.scores = {"style": {"value": 0.25, "parts": {}, "reasons": ["It is terse."], "metadata": {}}}
    with RunFolder.create(tmp_path / "run", make_config()) as folder:
        folder.append(episode)
    page = view(RunFolder(folder.path), at="#/0/0")
    page.wait_for("document.querySelectorAll('.turn.drawn').length === 2")
    text = page.text(".turn")
    for part in ("Look:", "Let me think.", "python", "1 + 1", "Result", "reward −0.5", "20 → 5 tokens"):
        assert part in text
    page.wait_for("document.querySelector('img.picture').naturalWidth === 1")
    assert "It is terse." in page.text(".turn.end")
    tokens = [f"t{number}" for number in turn.token_ids or []]
    assert page.texts(".turn:first-of-type .token") == tokens
    page.hover("[data-token='2']")
    page.wait_for("!document.querySelector('.token-tip').hidden")
    assert f"id {(turn.token_ids or [])[2]}" in page.text(".token-tip")
    assert page.texts(".token-tip:not([hidden]) code") == [tokens[2], "other"]
    page.press("t")
    page.wait_for("!document.querySelector('.token[data-token]')")
    assert "I compute." in page.text(".turn .action")
    page.press("r")
    page.wait_for("document.querySelector('.raw')")
    assert '"Let me think."' in page.text(".raw")
    page.press("t", "r")


def test_a_link_leads_to_a_turn(make_run: MakeRun, view: View) -> None:
    """An address names an episode and a turn, which is then at the top of the window."""
    page = view(make_run(episodes=2, turns=90), at="#/0/1/70")
    page.wait_for("document.querySelector('.turn.current')")
    assert page.text(".turn.current h2") == "Turn 70"
    assert 0 <= page.evaluate("document.querySelector('.turn.current').getBoundingClientRect().top") < 120
    assert page.evaluate("document.querySelectorAll('.turn.drawn').length") < 60


def test_escape_returns_to_the_row(make_run: MakeRun, view: View) -> None:
    """Back in the table, the filter, the place and the focus are as they were."""
    page = view(make_run(episodes=300, turns=2), at="#/0?turns=2&sort=-seed")
    page.wait_for("document.querySelectorAll('.rows .row').length > 5")
    page.press("j", "j", "j")
    focused = page.evaluate("document.activeElement.getAttribute('href')")
    page.press("Enter")
    page.wait_for("document.querySelector('.turn.drawn')")
    page.press("Escape")
    page.wait_for("document.querySelector('.rows .row')")
    assert page.evaluate("location.hash") == "#/0?turns=2&sort=-seed"
    assert page.evaluate("document.activeElement.getAttribute('href')") == focused


def test_two_runs_are_compared_seed_by_seed(make_run: MakeRun, view: View) -> None:
    """Pairs have one key; disagreements can be filtered; a pair opens as two conversations next to each other."""
    one, other = make_run("one", episodes=40, group=2), make_run("other", episodes=30, group=2, salt=1, skill=0.3)
    page = view(one, other)
    assert rows_shown(page) == 30
    first = {row.key: row for row in one.rows()}
    differing = [row for row in other.rows() if row.success != first[row.key].success]
    assert 0 < len(differing) < 30
    differences = [row.episode_return - first[row.key].episode_return for row in other.rows()]
    shown = page.evaluate("[...document.querySelectorAll('.rows .row')].map((r) => r.children[7].textContent)")
    signs = {1.0: "+1", 0.0: "0", -1.0: "−1"}
    assert shown == [signs[difference] for difference in differences][: len(shown)]
    page.click(".chips .chip")
    page.wait_for(f"document.querySelector('.result').textContent.startsWith('{len(differing)} of')")
    page.click(".rows .row a")
    page.wait_for("document.querySelectorAll('.turn.drawn').length > 1")
    assert page.texts(".side-head strong") == ["one", "other"]
    page.press("j")
    tops = page.evaluate(
        "[...document.querySelectorAll('.turn[data-index=\"0\"]')].map((turn) => turn.getBoundingClientRect().top)"
    )
    assert len(tops) == 2
    assert tops[0] == tops[1]


def test_new_episodes_appear_while_the_run_goes_on(
    make_run: MakeRun, make_trajectory: Callable[..., Trajectory], view: View
) -> None:
    """Episodes that are written while the page is open get rows, and what is being played is shown."""
    run = make_run(episodes=2)
    with RunFolder.open(run.path, write=True) as folder:
        folder.write_live({"total": 4, "done": 2, "running": [{"key": ["x", 9, 0], "turns": 3, "seconds": 1.0}]})
        page = view(run)
        page.wait_for("document.querySelector('.live').textContent.includes('2 of 4')")
        assert "seed 9 (turn 3)" in page.text(".live")
        for seed in (50, 51):
            folder.append(make_trajectory(seed=seed))
        page.wait_for("document.querySelectorAll('.rows .row').length === 4")
    page.wait_for("document.querySelector('.live').hidden")


def test_an_episode_played_anew_replaces_the_failed_one(
    make_run: MakeRun, make_trajectory: Callable[..., Trajectory], view: View
) -> None:
    """Of several attempts at an episode, the table shows the last."""
    run = make_run(episodes=3, failures=1)
    page = view(run)
    assert page.texts(".badge").count("Unknown") == 1
    with RunFolder.open(run.path, write=True) as folder:
        folder.append(make_trajectory(seed=0))
    page.wait_for("![...document.querySelectorAll('.badge')].some((badge) => badge.textContent === 'Unknown')")
    assert rows_shown(page) == 3


VIEWS = ["#/0", "#/0/0", "#/compare/0/1", "#/compare/0/1/0/0", "#/runs", "#/figures"]
DRAWN = "document.querySelector('.turn.drawn, .rows .row, .matrix td, svg.figure')"


def model_calls() -> dict[str, Any]:
    """Return the metadata of an episode in which a program called its model, with lineages of several kinds."""
    tree = LineageTree()
    for parent, tools, answered in ((None, True, True), (0, True, True), (0, True, False), (0, True, True),
                                    (None, False, True), (None, True, True), (None, False, False)):  # fmt: skip
        tree.add(
            RecordedCall(
                [{"role": "user", "content": "word " * 60}, {"role": "user", "content": "w" * 300}],
                answer={"role": "assistant", "content": "word " * 60, "reasoning": "word " * 60} if answered else None,
                parent=parent,
                began=None if parent is not None else "the first call of a conversation",
                tools=["act"] if tools else [],
                usage={"prompt_tokens": 123456, "completion_tokens": 4567, "cached_tokens": 98765},
                seconds=1.5,
                turn=0,
                model="a-model-with-an-uncommonly-long-name" * 3,
                error=None if answered else "the server answered 500" * 5,
                metadata={"notes": ["left out"]},
            )
        )
    return recorded_lineages(tree)


FAINT = """
(() => {
  const parse = (colour) => {
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, base) => [0, 1, 2].map((i) => top[i] * top[3] + base[i] * (1 - top[3])).concat(1);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    if (!element) return parse("Canvas");
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(element.parentElement));
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, style, noscript, :disabled, .skip")) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const back = ground(element);
    const [light, dark] = [luminance(over(parse(colour), back)), luminance(back)].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faint.add(`${element.outerHTML.slice(0, 100)} ${contrast.toFixed(2)}`);
  }
  return [...faint];
})()
"""


@pytest.mark.slow(reason="pages in a browser")
def test_all_text_is_readable_and_all_controls_have_names(make_run: MakeRun, view: View) -> None:
    """In light and dark, text has a contrast of 4.5 to its ground (WCAG 2.2 AA), and each control has a name."""
    one = make_run("one", episodes=12, failures=2, metadata=model_calls())
    page = view(one, make_run("other", episodes=12, salt=1))
    for address in VIEWS:
        page.evaluate(f"location.hash = {json.dumps(address)}")
        page.wait_for(DRAWN)
        page.wait_for("!document.querySelector('.waiting')")
        page.evaluate("document.querySelectorAll('.model-call').forEach((e) => { e.open = true; })")
        for dark in (False, True):
            page.set_dark(dark)
            assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is dark
            assert page.evaluate(FAINT) == [], (address, dark)
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        unnamed = [
            node["role"]["value"]
            for node in nodes
            if not node.get("ignored")
            and node["role"]["value"] in ("button", "link", "combobox", "textbox", "searchbox", "spinbutton", "table")
            and not node.get("name", {}).get("value")
        ]
        assert not unnamed, address


@pytest.mark.parametrize(
    "width", [400, 1000, *(pytest.param(width, marks=pytest.mark.nightly) for width in (700, 1900))]
)
def test_nothing_sticks_out_of_the_window(width: int, make_run: MakeRun, view: View) -> None:
    """From a phone to a wide screen, the page never scrolls sideways."""
    env = "game:AnEnvironmentWithAnUncommonlyLongNameForAnId-v0-extraordinarily-hard"
    one = make_run("one", env=env, episodes=12, metadata=model_calls())
    page = view(one, make_run("other", env=env, episodes=12, salt=1), width=width)
    for address in VIEWS:
        page.evaluate(f"location.hash = {json.dumps(address)}")
        page.wait_for(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_the_theme_can_be_chosen(make_run: MakeRun, view: View) -> None:
    """The button goes from the system's colours to light to dark, and the choice stays."""
    page = view(make_run())
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    dark = page.evaluate(ground)
    assert dark != light
    page.call("Page.reload")
    page.wait_for(f"document.documentElement.dataset.ready && {ground} === {json.dumps(dark)}")


def test_help_lists_the_keys(make_run: MakeRun, view: View) -> None:
    """? opens a list of keys, and closes it."""
    page = view(make_run())
    page.press("?")
    page.wait_for("document.querySelector('dialog[open]')")
    assert "next, previous turn" in page.text("dialog")
    page.press("Escape")
    page.wait_for("!document.querySelector('dialog[open]')")
