"""A broken plugin is reported by name and harms no other package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gem.cli.plugin_probe import probe

from gem.discovery.manifest import FILE_NAME, read_specs

if TYPE_CHECKING:
    from conftest import PluginSite

MANIFESTS = sorted(Path(__file__).parents[1].glob(f"packages/*/src/*/{FILE_NAME}"))
EVERYTHING = [spec.id for manifest in MANIFESTS for spec in read_specs(manifest)]
DISTRIBUTIONS = {project.parent.name for project in Path(__file__).parents[1].glob("packages/*/pyproject.toml")}
GAMES = [name for name in EVERYTHING if name.startswith("game:")]

VALID = 'schema = 1\n[[environment]]\nid = "{id}"\nentry_point = "{package}:Thing"\ndescription = "A thing."\n'

BROKEN: dict[str, dict[str, Any]] = {
    "manifest is missing": {"files": {"bad_plugin/__init__.py": ""}},
    "manifest is no TOML": {"files": {"bad_plugin/__init__.py": "", "bad_plugin/environments.toml": "schema = = 1"}},
    "manifest breaks the schema": {
        "files": {
            "bad_plugin/__init__.py": "",
            "bad_plugin/environments.toml": VALID.format(id="bad:Thing-v0", package="bad_plugin") + "colour = 'red'\n",
        }
    },
    "manifest has a newer schema": {
        "files": {
            "bad_plugin/__init__.py": "",
            "bad_plugin/environments.toml": VALID.format(id="bad:Thing-v0", package="p").replace("= 1", "= 2"),
        }
    },
    "manifest lists ids of another namespace": {
        "files": {
            "bad_plugin/__init__.py": "",
            "bad_plugin/environments.toml": VALID.format(id="other:Thing-v0", package="bad_plugin"),
        }
    },
    "package does not exist": {"files": {}},
    "entry_points.txt is malformed": {"entry_points": "[gem.envs]\nno equals sign\n", "files": {}},
    "METADATA is missing": {"files": {}, "metadata": None},
    "METADATA is empty": {"files": {}, "metadata": ""},
}


def run_gem(site: PluginSite, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that has the site first on its path."""
    environment = {**os.environ, "PYTHONPATH": str(site.folder), **variables}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def json_of(site: PluginSite, code: str, **variables: str) -> Any:
    """Run code that prints JSON last; return that."""
    done = run_gem(site, code, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def doctor(site: PluginSite) -> dict[str, str]:
    """Return what 'gem doctor' finds: subject → problem.

    It imports every plugin in a process of its own, so only the games are left to it besides the site's.
    """
    variables = {
        "PYTHONPATH": str(site.folder),
        "PATH": str(Path(sys.executable).parent),
        "GEM_DISABLE_PLUGINS": ",".join(DISTRIBUTIONS - {"gem-core", "gem-envs-games"}),
    }
    done = subprocess.run(
        [sys.executable, "-m", "gem", "doctor", "--json"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return {item["subject"]: item["problem"] for item in json.loads(done.stdout)["findings"]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_named_and_harms_nobody(site: PluginSite, case: str) -> None:
    """With a broken plugin installed, the games and a healthy plugin work as before, and gem doctor names it."""
    site.add("bad-plugin", **{"entry_points": {"bad": "bad_plugin"}, **BROKEN[case]})
    site.add_thing("good-plugin", "good_plugin", "good")
    code = """
import gem, json
games = [spec.id for spec in gem.all_specs("game")]
things = [gem.make(name).reset()[0] for name in ("good:Thing-v0", "good:Thing-v0-big")]
gem.make("game:GuessTheNumber-v0-easy").reset(seed=1)
print(json.dumps([len(games), things]))
"""
    assert json_of(site, code) == [len(GAMES), ["size 1", "size 9"]]
    findings = doctor(site)
    assert [subject for subject in findings if subject.startswith(("bad-plugin", "bad_plugin"))], findings
    assert not [subject for subject in findings if subject.startswith(("good", "gem-envs"))], findings


_HOOK = "from gem.plugins import hookimpl\n@hookimpl\ndef {}():\n    return {}\n"

IMPORTS = {
    "plugin raises at import": ("plugin", "raise RuntimeError('boom')", "RuntimeError: boom"),
    "plugin exits at import": ("plugin", "import sys; sys.exit(3)", "SystemExit: 3"),
    "plugin ends its process": ("plugin", "import os; print('last words', flush=True); os._exit(3)", "last words"),
    "plugin prints at import": ("plugin", "print('hello')", "prints: 'hello'"),
    "plugin has an unknown hook": ("plugin", _HOOK.format("gem_wrapers", "{}"), "gem_wrapers"),
    "plugin's hook raises": ("plugin", _HOOK.format("gem_wrappers", "1 / 0"), "ZeroDivisionError"),
    "name leads nowhere": ("plugin", _HOOK.format("gem_wrappers", "{'loud': 'bad_plugin:Loud'}"), "bad_plugin:Loud"),
    "name is no command": ("plugin", _HOOK.format("gem_commands", "{'loud': print}"), "not a click command"),
    "package raises at import": ("envs", "raise RuntimeError('boom')", "RuntimeError: boom"),
    "class is missing": ("envs", "", "bad_plugin:Thing"),
    "class is no Env": ("envs", "class Thing: pass", "does not derive from gem.Env"),
}


def add_plugin(site: PluginSite, kind: str, code: str) -> None:
    """Install a distribution with code in a plugin module, or in a package of environments."""
    if kind == "plugin":
        site.add("bad-plugin", "[gem.plugins]\nbad = bad_plugin\n", {"bad_plugin.py": code})
    else:
        manifest = VALID.format(id="bad:Thing-v0", package="bad_plugin")
        site.add(
            "bad-plugin",
            {"bad": "bad_plugin"},
            {"bad_plugin/__init__.py": code, "bad_plugin/environments.toml": manifest},
        )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", IMPORTS)
def test_the_doctor_finds_what_breaks_at_import(site: PluginSite, case: str) -> None:
    """Each fault that only an import shows is found, in another process."""
    kind, code, shown = IMPORTS[case]
    add_plugin(site, kind, code)
    (problem,) = probe("bad-plugin").problems
    assert shown in problem


def test_the_doctor_names_who_takes_a_name_that_is_taken(site: PluginSite) -> None:
    """A wrapper with the name of a built-in one is reported with the name's owner."""
    add_plugin(site, "plugin", _HOOK.format("gem_wrappers", "{'concat': print}"))
    assert "gem_wrappers offers 'concat', which gem-core offers already" in doctor(site)["bad-plugin"]


def test_a_plugin_that_hangs_at_import_is_given_up(site: PluginSite) -> None:
    """After the time limit its process is ended, and the report says so."""
    add_plugin(site, "plugin", "while True: pass")
    assert probe("bad-plugin", seconds=0.5).problems == ["importing it takes more than 0.5 s"]


LISTED_BY_DAY = ("manifest is no TOML", "entry_points.txt is malformed", "METADATA is missing")
"""A fault of each file. The test of all faults above finds what 'gem list' is told as well."""


@pytest.mark.parametrize(
    "case",
    [
        case if case in LISTED_BY_DAY else pytest.param(case, marks=pytest.mark.nightly)
        for case in BROKEN
        if case != "manifest lists ids of another namespace"
    ],
)
def test_listing_warns_of_a_broken_plugin(site: PluginSite, case: str) -> None:
    """'gem list' shows everything that is healthy and warns of the broken plugin by name."""
    site.add("bad-plugin", **{"entry_points": {"bad": "bad_plugin"}, **BROKEN[case]})
    done = run_gem(site, "import sys; sys.argv = ['gem', 'list', '--ids']; from gem.cli.main import run; run()")
    assert done.returncode == 0
    assert done.stdout.split() == sorted(EVERYTHING)
    assert "bad-plugin" in done.stderr or "bad_plugin-1.0.dist-info" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "statement", ["raise RuntimeError('boom')", "import nothing_of_this_name", "import sys; sys.exit(3)", "1 +"]
)
def test_a_module_that_fails_at_import_fails_only_its_own_make(site: PluginSite, statement: str) -> None:
    """A plugin whose module cannot be imported is listed; making it says which module failed, and nothing else does."""
    site.add(
        "bad-plugin",
        {"bad": "bad_plugin"},
        {
            "bad_plugin/__init__.py": statement,
            "bad_plugin/environments.toml": VALID.format(id="bad:Thing-v0", package="bad_plugin"),
        },
    )
    code = """
import gem, json
listed = "bad:Thing-v0" in [spec.id for spec in gem.all_specs()]
gem.make("game:GuessTheNumber-v0-easy")
try:
    gem.make("bad:Thing-v0")
except gem.GemError as error:
    print(json.dumps([listed, type(error).__name__, str(error)]))
"""
    listed, kind, message = json_of(site, code)
    assert listed
    assert kind == "EntryPointError"
    assert "bad_plugin:Thing" in message


def test_two_claimants_of_one_id(site: PluginSite) -> None:
    """An id that two distributions provide is an error that names both; each owner's prefix picks one."""
    site.add_thing("first-things", "first_things", "things")
    site.add_thing("second-things", "second_things", "things", extra='tags = ["second"]')
    code = """
import gem, json
modules = [type(gem.make(f"{owner}/things:Thing-v0")).__module__ for owner in ("first-things", "Second_Things")]
try:
    gem.make("things:Thing-v0")
except gem.GemError as error:
    print(json.dumps([modules, type(error).__name__, str(error), len(gem.all_specs("things"))]))
"""
    modules, kind, message, count = json_of(site, code)
    assert modules == ["first_things", "second_things"]
    assert kind == "EnvironmentConflictError"
    assert "first-things" in message
    assert "second-things" in message
    assert count == 4
    assert "first-things and second-things" in doctor(site)["things:Thing-v0"]


def test_claiming_an_id_of_the_games_harms_only_that_id(site: PluginSite) -> None:
    """A plugin that lists an id of gem-envs-games makes that id ambiguous and leaves all others alone."""
    site.add(
        "bad-plugin",
        {"game": "bad_plugin"},
        {
            "bad_plugin/__init__.py": "raise RuntimeError",
            "bad_plugin/environments.toml": VALID.format(id="game:Sudoku-v0-easy", package="bad_plugin").replace(
                "Sudoku-v0-easy", "GuessTheNumber-v0"
            ),
        },
    )
    code = """
import gem, json
owned = gem.make("gem-envs-games/game:GuessTheNumber-v0").spec.distribution
variant = gem.make("game:GuessTheNumber-v0-easy").spec.distribution
try:
    gem.spec("game:GuessTheNumber-v0")
except gem.GemError as error:
    print(json.dumps([owned, variant, str(error)]))
"""
    owned, variant, message = json_of(site, code)
    assert owned == variant == "gem-envs-games"
    assert "bad-plugin" in message
    assert "gem-envs-games" in message


def test_plugins_can_be_switched_off(site: PluginSite) -> None:
    """GEM_DISABLE_PLUGINS=1 hides every plugin; a list of distributions, in any spelling, just those."""
    site.add_thing("my-things", "my_things", "things")
    code = "import gem, json; print(json.dumps(sorted({s.namespace for s in gem.all_specs()} & {'game', 'things'})))"
    assert json_of(site, code) == ["game", "things"]
    assert json_of(site, code, GEM_DISABLE_PLUGINS="1") == []
    assert json_of(site, code, GEM_DISABLE_PLUGINS="My_Things, other") == ["game"]
    assert json_of(site, code, GEM_DISABLE_PLUGINS="gem-envs-games,my-things") == []


def test_making_one_environment_imports_no_other_plugin(site: PluginSite) -> None:
    """make() imports the package that claims the namespace, and none of the others that are installed."""
    site.add_thing("my-things", "my_things", "things")
    site.add_thing("other-things", "other_things", "others")
    code = """
import gem, json, sys
gem.make("things:Thing-v0")
print(json.dumps([name for name in ("my_things", "other_things", "gem_envs_games") if name in sys.modules]))
"""
    assert json_of(site, code) == ["my_things"]
    assert json_of(site, code.replace("things:", "game:").replace("Thing-v0", "GuessTheNumber-v0")) == [
        "gem_envs_games"
    ]


def test_a_malformed_distribution_does_not_stop_pydantic(site: PluginSite) -> None:
    """Pydantic looks for plugins of its own in all distributions; tools are made although one is malformed."""
    site.add("bad-plugin", "[pydantic]\nno equals sign\n", {})
    code = """
import json
from gem.tools import tool

@tool
def add(a: int, b: int) -> str:
    "Add two numbers."
    return str(a + b)

print(json.dumps(add.name))
"""
    assert json_of(site, code) == "add"


def test_a_broken_command_plugin_leaves_the_commands_alone(site: PluginSite) -> None:
    """A plugin whose hooks cannot be loaded is a warning where plugins matter, and no other command fails."""
    site.add("bad-plugin", "[gem.plugins]\nbad = bad_plugin\n", {"bad_plugin.py": "raise RuntimeError('boom')"})
    site.add(
        "good-plugin",
        "[gem.plugins]\ngood = good_plugin\n",
        {
            "good_plugin.py": "import click, gem.plugins\n\n"
            "@gem.plugins.hookimpl\ndef gem_commands():\n    return {'hello': hello}\n\n"
            "@click.command()\ndef hello():\n    click.echo('hello')\n"
        },
    )
    run = "import sys; sys.argv = ['gem', {!r}]; from gem.cli.main import run; run()"
    assert run_gem(site, run.format("list")).stderr == ""
    done = run_gem(site, run.format("hello"))
    assert done.stdout == "hello\n"
    assert "bad-plugin" in done.stderr
    assert "boom" in done.stderr
    assert "Traceback" not in done.stderr
