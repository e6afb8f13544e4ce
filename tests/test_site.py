"""The site: every document has a page, every public thing an entry in the reference, and broken pages are noticed."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import asdict
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
import pytest
from devtools.site import check, documents, environment_pages, llms, named_pages, navigation, play, played, python_pages
from devtools.site.command_pages import command_pages, commands
from devtools.site.environment_arguments import Argument, arguments_of
from devtools.site.public_api import LEFT_OUT, PublicApi, load_api, source_packages
from devtools.site.restructured import section_id

from gem import built_in, errors
from gem.entry_points import load
from gem.plugins import Hooks
from gem_hub.site.environment import environment_body
from gem_hub.site.views import BaseEnvironment, RewardRange
from gem_testing import CLAUSES
from gem_testing.scores import AgentScore

if TYPE_CHECKING:
    from conftest import PluginSite

ROOT = Path(__file__).parents[1]
CORE = ROOT / "packages" / "gem-core" / "src" / "gem"


@pytest.fixture(scope="module")
def core() -> PublicApi:
    """The public names of gem-core."""
    return load_api([CORE])


def public_names(folder: Path) -> set[str]:
    """Return the path of every name in an ``__all__`` below a package's folder, read apart from the generator."""
    found = set()
    for file in folder.rglob("*.py"):
        module = [folder.name, *file.relative_to(folder).with_suffix("").parts]
        if any(part in LEFT_OUT or (part.startswith("_") and part != "__init__") for part in module[1:]):
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
            ):
                path = ".".join(part for part in module if part != "__init__")
                found |= {f"{path}.{name}" for name in ast.literal_eval(node.value)}
    return found


def missing_entries(api: PublicApi, folders: list[Path]) -> list[str]:
    """Return the public names without an entry, and the classes and functions whose entry says nothing."""
    entries = dict(api.objects())
    known = {*entries, *api.aliases(), *api.modules}
    missing = [name for folder in folders for name in public_names(folder) if name not in known]
    silent = [path for path, found in entries.items() if (found.is_class or found.is_function) and not found.docstring]
    return sorted(missing + silent)


def test_every_document_stands_in_the_navigation() -> None:
    """The sections name existing documents, each once, and every page of docs/ is in one, the last if need be."""
    listed = [document for section in navigation.sections(ROOT) for document in section.documents]
    assert len(listed) == len(set(listed))
    assert not [document for document in listed if document.endswith(".md") and not (ROOT / document).is_file()]
    assert {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")} <= set(listed)


def test_no_two_documents_share_a_page() -> None:
    """Each document becomes a page of its own."""
    pages = list(documents.documents(ROOT).values())
    assert len(pages) == len(set(pages))


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("other.md", "other.md"),
        ("guides/one.md#part", "guides/one.md#part"),
        ("../packages/thing", "packages/thing.md"),
        ("../packages/thing/code.py", "files/packages/thing/code.py"),
        ("../packages/thing/notes.md", "path:files/packages/thing/notes.md"),
        ("../packages", "folders/packages.md"),
        ("https://example.org/x.md", "https://example.org/x.md"),
        ("#part", "#part"),
    ],
)
def test_a_link_leads_to_the_page_of_its_target(link: str, page: str, tmp_path: Path) -> None:
    """Documents, folders, other files and foreign addresses."""
    for file in (
        "docs/a.md",
        "docs/other.md",
        "docs/guides/one.md",
        "packages/thing/README.md",
        "packages/thing/code.py",
        "packages/thing/notes.md",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("x", encoding="utf-8")
    pages = {
        "docs/a.md": "a",
        "docs/other.md": "other",
        "docs/guides/one.md": "guides/one",
        "packages/thing/README.md": "packages/thing",
    }
    text = f"See [it]({link}).\n\n```text\n[it]({link})\n```\n"
    found = documents.relinked(text, "docs/a.md", "a", pages, tmp_path, tmp_path / "out")
    assert found == f"See [it]({page}).\n\n```text\n[it]({link})\n```\n"


def test_a_dead_link_ends_the_build(tmp_path: Path) -> None:
    """A link to a path that does not exist is an error that names the document and the link."""
    with pytest.raises(documents.DeadLinkError, match=r"docs/a\.md: the link 'gone\.md'"):
        documents.relinked("[x](gone.md)", "docs/a.md", "a", {"docs/a.md": "a"}, tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="other.html#there">x</a><a href="#here">y</a><img src="data:image/png;base64,AA==">', None),
        ('<a href="gone.html">x</a>', "'gone.html' leads nowhere"),
        ('<a href="other.html#gone">x</a>', "'other.html#gone' names an anchor that is not there"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<img src="//cdn.example/x.png">', "loads //cdn.example/x.png"),
        ('<link rel="stylesheet" href="http://cdn.example/x.css">', "loads http://cdn.example/x.css"),
        ('<a href="https://example.org/">x</a>', None),
    ],
)
def test_a_broken_page_is_noticed(html: str, fault: str | None, tmp_path: Path) -> None:
    """Dead links, missing anchors, and files from elsewhere are faults; a link to elsewhere is none."""
    (tmp_path / "page.html").write_text(f'<p id="here">{html}</p>', encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="there"></p>', encoding="utf-8")
    found = check.faults(tmp_path)
    assert found == ([] if fault is None else [f"page.html: {fault}"])


def test_a_style_sheet_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """A font of another host is a fault."""
    (tmp_path / "site.css").write_text("@font-face { src: url('https://fonts.example/a.woff2'); }", encoding="utf-8")
    assert check.faults(tmp_path) == ["site.css: loads a file from elsewhere"]


def test_every_page_has_its_line_in_the_list_for_language_models(tmp_path: Path) -> None:
    """In the order of the navigation, then by name; the line is the page's first sentence, and every link resolves."""
    page = '<p>menu</p><h1>{} [x]<a class="headerlink" href="#">¶</a></h1><p>About <code>it</code>.</p><p>More.</p>'
    for name in ("index", "start", "guides/rewards", "environments/game/Sudoku", "reference/errors", "odd", "search"):
        path = tmp_path / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.format(name), encoding="utf-8")
    (tmp_path / "odd.html").write_text("<h1>Odd</h1><p>" + "long " * 99, encoding="utf-8")
    text = llms.llms_text(tmp_path, (navigation.Section("First", ("docs/start.md", "docs/guides/rewards.md")),))
    line = "- [{0} x]({0}.html): About it."
    cut = ("long " * 32).strip() + " …"
    groups = {
        "First": [line.format("start"), line.format("guides/rewards")],
        "Environments": [line.format("environments/game/Sudoku")],
        "Further pages": [f"- [Odd](odd.html): {cut}"],
        "Reference": [line.format("reference/errors")],
    }
    listed = "".join(f"\n## {heading}\n\n" + "\n".join(lines) + "\n" for heading, lines in groups.items())
    assert text == "# index x\n\n> About it.\n" + listed
    assert all((tmp_path / link).is_file() for link in re.findall(r"\]\((.*?)\)", text))


def test_a_missing_page_ends_the_list_for_language_models(tmp_path: Path) -> None:
    """The navigation names a page that was not built."""
    (tmp_path / "index.html").write_text("<h1>x</h1>", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="gone"):
        llms.llms_text(tmp_path, (navigation.Section("First", ("docs/gone.md",)),))


def test_every_public_name_of_the_core_has_an_entry(core: PublicApi) -> None:
    """What __all__ lists is on a page, and classes and functions have a text. The nightly test reads all packages."""
    assert not missing_entries(core, [CORE])


def test_a_public_name_without_an_entry_is_noticed(tmp_path: Path) -> None:
    """A function without a docstring and a name that an underscore hides from the pages are both reported."""
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text('"""P."""\n', encoding="utf-8")
    (package / "a.py").write_text('"""A."""\n__all__ = ["f", "g"]\n\ndef f(): ...\n\ndef g():\n    """G."""\n')
    api = load_api([package])
    assert missing_entries(api, [package]) == ["some_package.a.f"]
    assert ".. py:function:: f()" in dict(python_pages.python_pages(api))["reference/python/some_package"]
    del api.modules["some_package.a"].objects["g"]
    assert missing_entries(api, [package]) == ["some_package.a.f", "some_package.a.g"]


def test_every_hook_info_key_and_clause_has_an_entry(core: PublicApi) -> None:
    """Each comes from the place that defines it, with a text."""
    hooks = {entry.name: entry.lines[0] for entry in named_pages.hook_entries(core)}
    assert hooks.keys() == {name for name in vars(Hooks) if name.startswith("gem_")}
    keys = {entry.name: entry.lines[0] for entry in named_pages.info_entries(core)}
    assert {"turn", "suffix", "error", "prev_ep_…", "final_info"} <= keys.keys()
    clauses = {entry.name: entry.lines[0] for entry in named_pages.clause_entries(core)}
    assert clauses.keys() == CLAUSES.keys()
    assert all([*hooks.values(), *keys.values(), *clauses.values()])


def test_every_error_of_the_core_has_an_entry(core: PublicApi) -> None:
    """The page has every class that gem.errors lists."""
    assert set(errors.__all__) <= {entry.name for entry in named_pages.error_entries(core)}


def test_every_built_in_wrapper_and_mode_is_a_public_class_or_function(core: PublicApi) -> None:
    """So each has an entry to which the page of its name can link."""
    for target in (*built_in.WRAPPERS.values(), *built_in.VECTOR_BACKENDS.values()):
        assert core.find(target.replace(":", ".")).docstring, target


def test_the_page_of_a_command_has_its_options() -> None:
    """A subcommand stands on the page of its group, with every option but the hidden ones. By night all are read."""

    @click.group()
    def gem() -> None:
        """Everything."""

    @gem.group()
    def hub() -> None:
        """A hub."""

    @hub.command()
    @click.option("--port", help="the | port")
    @click.option("--secret", hidden=True)
    def serve(port: int, secret: str) -> None:
        """Serve it."""

    found = commands(gem)
    assert [shown.name for shown in found] == ["gem", "gem hub", "gem hub serve"]
    page = dict(command_pages(found))["reference/commands/hub"]
    assert f".. _{section_id('option', 'gem hub serve --port')}:" in page
    assert "the \\| port" in page
    assert "secret" not in page


@pytest.mark.nightly
def test_every_option_of_every_command_is_described() -> None:
    """The pages of the commands have an entry for each option, and each command and option has a text."""
    found = commands()
    pages = "\n".join(text for _, text in command_pages(found))
    for shown in found:
        assert shown.command.help, shown.name
        for option in shown.command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.help, f"{shown.name} {option.opts[-1]}"
                if len(shown.words) > 1:
                    assert f".. _{section_id('option', f'{shown.name} {option.opts[-1]}')}:" in pages


@pytest.mark.nightly
def test_every_public_name_of_every_package_has_an_entry() -> None:
    """The same as for the core, and an entry for everything that plugins bring by name."""
    folders = list(source_packages(ROOT).values())
    api = load_api(folders)
    assert not missing_entries(api, folders)
    for page in named_pages.NAMED:
        assert all(entry.name and any(entry.lines) for entry in page.entries(api)), page.page


def test_a_page_shows_the_scores_and_the_episode_of_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was played stands on the page: each turn with what the agent saw and did, and the mean of each agent."""
    monkeypatch.setattr(play, "SECONDS", 0.05)
    line = play.played("game:GuessTheNumber-v0-easy", with_episode=True)
    assert "error" not in line
    assert line["scores"].keys() == {"random", "reference", "null"}
    turns = line["episode"]
    assert [turn["reward"] for turn in turns][-2:] == [1.0, None]
    environment = BaseEnvironment("game:GuessTheNumber-v0", "Guess.", "multi", ["text"], [], [])
    score = RewardRange(line["id"], -0.1, 1.0, -0.1, 1.0, "observation", line["scores"])
    environment.rewards.append(score)
    shown = environment_pages.turns_of(turns)
    html = unescape(environment_body(environment, shown, line["id"]))
    assert html.count("<details") == len(turns)
    assert all(turn["action"] in html for turn in turns)
    assert turns[0]["observation"].splitlines()[0] in html
    assert all(f"<dt>{agent.capitalize()} policy</dt>" in html for agent in line["scores"])
    assert all(f'<th scope="col">{agent.capitalize()} policy</th>' in html for agent in line["scores"])


def test_the_pages_of_environments_are_those_of_packages_with_a_manifest() -> None:
    """Each package with an environments.toml is shown, and no library, which has nothing to play."""
    views = environment_pages.package_views()
    assert {view.name for view in views} == {
        path.parents[2].name for path in ROOT.glob("packages/*/src/*/environments.toml")
    }
    assert all(played.what_was_played(view, Path("none"), played.Playing.NOTHING) == {} for view in views)


@pytest.mark.parametrize(("sees", "agent"), [("observation", "reference"), ("", "random")])
def test_a_page_without_scores_says_so(sees: str, agent: str) -> None:
    """It has no columns for them and no legend, but the commands that play, with an agent that the environment has."""
    environment = BaseEnvironment("game:Some-v0", "A game.", "multi", ["text"], [], [])
    environment.rewards.append(RewardRange("game:Some-v0", 0.0, 1.0, 0.0, 1.0, sees, {}))
    view: Any = SimpleNamespace(name="some-envs", release=SimpleNamespace(licence="MIT"))
    page = environment_pages.environment_page(view, environment, {})
    assert f"`gem rollout game:Some-v0 --agent {agent}` plays the environment" in page
    assert "`python3 dev.py site --play`" in page
    assert "policy</th>" not in page
    assert "policy</dt>" not in page
    score = AgentScore(4, 0.5, 0.1, 0.5, 3.0)
    played_page = environment_pages.environment_page(
        view, environment, {"game:Some-v0": {"scores": {"null": asdict(score)}}}
    )
    assert "without scores" not in played_page
    assert re.findall(r"(\w+ policy)</t[hd]>", played_page) == ["Null policy"]
    assert re.findall(r"(\w+ policy)</dt>", played_page) == ["Null policy"]
    turn = {"observation": "a < b", "action": "move", "reward": 1.0}
    example = environment_pages.environment_page(
        view, environment, {"game:Some-v0": {"id": "game:Some-v0", "policy": "random", "episode": [turn]}}
    )
    assert "without scores" in example
    assert "a &lt; b" in example
    failed = environment_pages.environment_page(view, environment, {"game:Some-v0": {"error": "no engine"}})
    assert "without scores" not in failed
    assert "no engine" in failed


def test_the_index_has_no_empty_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of bridges lists no environments; the index says so, counts it not, and links to the package."""
    game = BaseEnvironment("game:Some-v0", "A game.", "multi", ["text"], [], [])
    views = [
        SimpleNamespace(name="some-bridges", summary="Bridges.", environments=[]),
        SimpleNamespace(
            name="some-envs",
            summary="Games.",
            release=SimpleNamespace(licence="MIT"),
            source="x",
            environments=[game],
        ),
    ]
    monkeypatch.setattr(environment_pages, "package_views", lambda: views)
    monkeypatch.setattr(environment_pages, "what_was_played", lambda *_, **__: {"game:Some-v0": {"error": "none"}})
    game.rewards.append(RewardRange("game:Some-v0", 0.0, 1.0, 0.0, 1.0, "", {}))
    monkeypatch.setattr(environment_pages, "arguments_of", lambda *_: ("some.Some", []))
    pages = environment_pages.environment_pages(Path(), PublicApi({}), played.Playing.NOTHING)
    index = dict(pages)["environments/index"]
    assert "1 environments in 1 packages" in index
    assert index.count("| environment |") == 1
    assert "It lists none of its own: [some-bridges](/packages/some-bridges.md)" in index


@pytest.mark.slow
def test_a_page_has_the_arguments_of_its_environment() -> None:
    """Each that the class describes, with its default; a class that describes none has those of its base."""
    folders = source_packages(ROOT)
    api = load_api(folders[name] for name in ("gem_envs_games", "gem_envs_visual"))
    path, arguments = arguments_of(api, "game:Sudoku-v0")
    assert path == "gem_envs_games.sudoku.SudokuEnv"
    signature = inspect.signature(load("gem_envs_games.sudoku:SudokuEnv")).parameters
    assert {one.name: one.default for one in arguments} == {
        name: repr(parameter.default) for name, parameter in signature.items()
    }
    assert arguments_of(api, "visual:Charts-v0")[1]
    environment = BaseEnvironment("game:Sudoku-v0", "A game.", "multi", ["text"], [], [])
    environment.rewards.append(RewardRange("game:Sudoku-v0", 0.0, 1.0, 0.0, 1.0, "", {}))
    view: Any = SimpleNamespace(name="some-envs", release=SimpleNamespace(licence="MIT"))
    page = environment_pages.environment_page(view, environment, {}, path, [*arguments, Argument("odd", "", "a | b")])
    assert "| `scale` | `9` | rows, columns and numbers: 4, 9, 16 or 25. |" in page
    assert "| `odd` | none | a \\| b |" in page
    assert ":class:" not in page


def test_an_environment_that_cannot_be_played_says_why() -> None:
    """An unknown id, a missing data set, or an engine that does not run is an error on the line, and ends nothing."""
    assert "UnknownEnvironmentError" in play.played("game:NoSuchGame-v0", with_episode=True)["error"]


STUBBORN = """
import os, time
import gem

class Env(gem.Env):
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        print("noise")
        {begin}
        return "", {{}}

    def step(self, action):
        return "", 1.0, True, False, {{}}

    def sample_random_action(self):
        return ""
"""


@pytest.mark.slow(reason="only a process that dies shows that another one takes its place")
def test_an_environment_that_hangs_or_crashes_says_so_and_the_next_is_played(
    site: PluginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is replaced; the pages show for each what happened, and a random episode without a reference."""
    kinds = {"Crashing": "os._exit(3)", "Hanging": "time.sleep(1000)", "Working": ""}
    files = {f"odd_envs/{name.lower()}.py": STUBBORN.format(begin=begin) for name, begin in kinds.items()}
    listed = [
        f'[[environment]]\nid = "odd:{name}-v0"\nentry_point = "odd_envs.{name.lower()}:Env"\ndescription = "Odd."\n'
        for name in kinds
    ]
    files["odd_envs/environments.toml"] = "schema = 1\n" + "".join(listed)
    site.add("odd-envs", {"odd": "odd_envs"}, {"odd_envs/__init__.py": "", **files})
    monkeypatch.setenv("PYTHONPATH", str(site.folder))
    with play.EnvironmentPlayer(longest=60) as player:
        crashed = player.play("odd:Crashing-v0", with_episode=True)
        assert crashed == {"id": "odd:Crashing-v0", "error": "it ended the process that played it"}
        played = player.play("odd:Working-v0", with_episode=True)
        assert (played["policy"], played["episode"][0]["reward"]) == ("random", 1.0)
        player.longest = 0.5
        assert "longer than 0.5 seconds" in player.play("odd:Hanging-v0", with_episode=True)["error"]


def test_what_was_played_is_kept_as_long_as_the_sources_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that was stopped goes on where it was; examples come first and count not as scores; others begin anew."""
    package = tmp_path / "envs" / "src" / "some_envs"
    package.mkdir(parents=True)
    (package / "environments.toml").write_text("schema = 1\n", encoding="utf-8")
    asked: list[tuple[str, bool, bool]] = []

    def answer(player: Any, env_id: str, *, with_episode: bool, with_scores: bool) -> dict[str, Any]:
        if env_id.endswith("c"):
            raise KeyboardInterrupt
        asked.append((env_id, with_episode, with_scores))
        return {"id": env_id, **({"episode": [1]} if with_episode else {}), **({"scores": {}} if with_scores else {})}

    monkeypatch.setattr(play.EnvironmentPlayer, "play", answer)
    monkeypatch.setattr(played, "ROOT", tmp_path)
    rewards = [SimpleNamespace(id=name) for name in ("a", "b", "c")]
    view: Any = SimpleNamespace(name="envs", source="envs", environments=[SimpleNamespace(rewards=rewards)])

    def found(playing: played.Playing) -> set[str]:
        return set(played.what_was_played(view, tmp_path / "cache", playing))

    assert not found(played.Playing.NOTHING)
    assert found(played.Playing.EXAMPLES) == found(played.Playing.EXAMPLES) == {"a"}
    assert asked == [("a", True, False)]
    with pytest.raises(KeyboardInterrupt):
        found(played.Playing.SCORES)
    assert asked[1:] == [("a", True, True), ("b", False, True)]
    rewards.pop()
    assert found(played.Playing.SCORES) == found(played.Playing.EXAMPLES) == {"a", "b"}
    assert len(asked) == 3
    (package / "rules.py").write_text("x = 1\n", encoding="utf-8")
    assert not found(played.Playing.NOTHING)
    found(played.Playing.SCORES)
    assert len(asked) == 5
