"""Plugins beyond environments: what their hooks offer, and what a broken one may not do."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem import plugins
from gem.discovery.official import WRAPPERS
from gem.errors import EntryPointError, MissingPluginError, PluginWarning

if TYPE_CHECKING:
    from conftest import PluginSite

HOOKS = [name for name in vars(plugins.Hooks) if name.startswith("gem_")]


def add_plugin(site: PluginSite, name: str, code: str) -> None:
    """Install a distribution with one plugin module."""
    module = name.replace("-", "_")
    site.add(name, f"[gem.plugins]\n{name} = {module}\n", {f"{module}.py": f"import gem.plugins\n{code}"})


def offering(hook: str, value: str) -> str:
    """Return the code of a plugin whose hook returns something."""
    return f"@gem.plugins.hookimpl\ndef {hook}():\n    return {value}\n"


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_collects_what_plugins_offer(site: PluginSite, hook: str) -> None:
    """Names of two plugins are there beside those of gem-core."""
    add_plugin(site, "one-plugin", offering(hook, "{'first': 'json:loads'}"))
    add_plugin(site, "two-plugin", offering(hook, "{'second': print}"))
    found = plugins.names(hook)
    assert found["first"] == "json:loads"
    assert found["second"] is print


def test_a_plugin_may_be_an_object_of_a_module(site: PluginSite) -> None:
    """An entry point 'module:attribute' names an object with the hooks as methods."""
    code = (
        "import gem.plugins\nclass Plugin:\n    @gem.plugins.hookimpl\n"
        "    def gem_wrappers(self):\n        return {'w': 'a:b'}\nplugin = Plugin()\n"
    )
    site.add("my-plugin", "[gem.plugins]\nmine = my_plugin:plugin\n", {"my_plugin.py": code})
    assert plugins.names("gem_wrappers")["w"] == "a:b"


BROKEN = {
    "raises at import": "raise RuntimeError('boom')",
    "exits at import": "import sys; sys.exit(3)",
    "is no Python": "def (",
    "needs what is missing": "import nothing_of_this_name",
    "implements an unknown hook": "@gem.plugins.hookimpl\ndef gem_nonsense(): return {}",
    "asks for unknown arguments": "@gem.plugins.hookimpl\ndef gem_wrappers(colour): return {}",
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_plugin_that_cannot_be_loaded_is_named_and_harms_nobody(site: PluginSite, case: str) -> None:
    """Plugins before and after the broken one in the order work; it alone is a problem and a warning."""
    add_plugin(site, "a-plugin", offering("gem_wrappers", "{'a': 'm:a'}"))
    add_plugin(site, "broken-plugin", BROKEN[case])
    add_plugin(site, "c-plugin", offering("gem_wrappers", "{'c': 'm:c'}"))
    with pytest.warns(PluginWarning, match=r"broken-plugin .*cannot be loaded"):
        found = plugins.names("gem_wrappers")
    assert {"a", "c"} <= found.keys()
    assert [problem.distribution for problem in plugins.problems()] == ["broken-plugin (broken-plugin)"]


@pytest.mark.parametrize(
    "value", ["{}['x']", "[1, 2]", "{1: 'm:a'}", "{'a': 1}", "{'a': None}", "'text'", "__import__('sys').nothing"]
)
def test_a_hook_that_fails_is_named_and_harms_nobody(site: PluginSite, value: str) -> None:
    """A hook that raises, or returns something other than names with targets, is a warning; other plugins count."""
    add_plugin(site, "a-plugin", offering("gem_wrappers", value))
    add_plugin(site, "b-plugin", offering("gem_wrappers", "{'b': 'm:b'}"))
    with pytest.warns(PluginWarning, match="a-plugin"):
        found = plugins.names("gem_wrappers")
    assert found["b"] == "m:b"
    assert all(isinstance(name, str) for name in found)


def test_a_hook_may_offer_nothing(site: PluginSite) -> None:
    """None and an empty dict are no problem, and a function without the marker is no hook."""
    add_plugin(site, "a-plugin", offering("gem_wrappers", "None") + offering("gem_commands", "{}"))
    add_plugin(site, "b-plugin", "def gem_wrappers():\n    return {'unmarked': 'm:a'}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "unmarked" not in plugins.names("gem_wrappers")


def test_a_name_belongs_to_the_first_that_offers_it(site: PluginSite) -> None:
    """gem-core's own names cannot be taken, and the second plugin of a name is left out with a warning."""
    add_plugin(site, "a-plugin", offering("gem_wrappers", "{'mine': 'm:a'}"))
    add_plugin(site, "b-plugin", offering("gem_wrappers", "{'mine': 'm:b', 'concat': 'm:b'}"))
    with pytest.warns(PluginWarning, match="b-plugin") as caught:
        found = plugins.names("gem_wrappers")
    assert len(caught) == 2
    assert found["mine"] == "m:a"
    assert found["concat"] != "m:b"


def test_one_module_announced_twice_is_two_plugins(site: PluginSite) -> None:
    """The same module under two names is no error of anybody else's; its names are simply taken."""
    code = "import gem.plugins\n" + offering("gem_wrappers", "{'mine': 'm:a'}")
    site.add("my-plugin", "[gem.plugins]\none = my_plugin\ntwo = my_plugin\n", {"my_plugin.py": code})
    with pytest.warns(PluginWarning, match="taken"):
        assert plugins.names("gem_wrappers")["mine"] == "m:a"


def test_what_gem_core_has_is_found_without_loading_plugins(site: PluginSite) -> None:
    """A built-in name costs no import of any plugin."""
    add_plugin(site, "broken-plugin", "raise RuntimeError")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert callable(plugins.lookup("gem_wrappers", "concat", "wrapper"))


def test_a_missing_mode_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modes of this project's packages are known by name, without the package."""
    monkeypatch.setattr(plugins, "entry_points", lambda group: ())
    with pytest.raises(MissingPluginError, match="'ray' comes with gem-ray; run: pip install gem-ray"):
        gem.make_vec(gem.EnvSpec("a:B", "json:loads"), mode="ray")


def test_a_missing_name_says_where_it_comes_from(site: PluginSite) -> None:
    """A name of a package that is not installed gives the pip line; a misspelt one the nearest."""
    with pytest.raises(MissingPluginError, match="wrapper 'special' comes with my-pkg; run: pip install my-pkg"):
        plugins.lookup("gem_wrappers", "special", "wrapper", {"special": "my-pkg"})
    with pytest.raises(MissingPluginError, match="no wrapper is called 'concatt'; did you mean 'concat'"):
        plugins.lookup("gem_wrappers", "concatt", "wrapper", WRAPPERS)
    with pytest.raises(MissingPluginError, match="no command is called 'zzz'; there are "):
        plugins.lookup("gem_commands", "zzz", "command")


def test_a_plugins_wrapper_is_applied_by_name(site: PluginSite) -> None:
    """wrappers="name" works for a wrapper that a plugin brings."""
    code = offering("gem_wrappers", "{'loud': 'loud_plugin:Loud'}") + (
        "import gem\nclass Loud(gem.Wrapper):\n    def reset(self, **kwargs):\n"
        "        observation, info = self.env.reset(**kwargs)\n        return observation.upper(), info\n"
    )
    add_plugin(site, "loud-plugin", code)
    site.add_thing("my-things", "my_things", "things")
    env: Any = gem.make("things:Thing-v0", wrappers="loud")
    assert env.reset(seed=1)[0] == "SIZE 1"
    assert env.spec.wrappers[0].entry_point == "loud_plugin:Loud"


def test_a_target_that_cannot_be_loaded_is_an_error_of_its_use(site: PluginSite) -> None:
    """Listing names loads nothing; using the broken one says which entry point failed."""
    add_plugin(site, "a-plugin", offering("gem_wrappers", "{'lost': 'nothing_of_this_name:W'}"))
    assert plugins.names("gem_wrappers")["lost"] == "nothing_of_this_name:W"
    with pytest.raises(EntryPointError, match="nothing_of_this_name"):
        plugins.lookup("gem_wrappers", "lost", "wrapper")


def test_a_command_that_cannot_be_loaded_leaves_the_help_of_all_others(site: PluginSite) -> None:
    """Gem --help names the broken command with its reason and still lists the rest."""
    from click.testing import CliRunner

    from gem_cli.main import cli

    add_plugin(site, "a-plugin", offering("gem_commands", "{'lost': 'nothing_of_this_name:command'}"))
    shown = CliRunner().invoke(cli, ["--help"])
    assert shown.exit_code == 0
    assert "Check the installation." in shown.output
    assert "cannot be loaded" in shown.output
    assert "nothing_of_this_name" in shown.output
