"""Prefixes of ids that a package resolves: ``[[resolver]]`` in its manifest."""

from __future__ import annotations

import json
import pickle
import sys
from typing import TYPE_CHECKING

import click.testing
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem import discovery
from gem.discovery.manifest import parse, read_manifest
from gem.discovery.manifest_schema import validate
from gem.env_spec import EnvSpec
from gem.errors import (
    EntryPointError,
    EnvironmentConflictError,
    InvalidIdError,
    ManifestError,
    UnknownEnvironmentError,
)
from gem.registry import conflicts
from gem_cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import PluginSite

CODE = """
import gem
from gem.env_spec import EnvSpec

class Remote(gem.Env):
    def __init__(self, address: str) -> None:
        self.address = address

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return f"at {self.address}", {}

    def step(self, action):
        return f"{action} at {self.address}", 1.0, True, False, {}

def resolve(env_id):
    return EnvSpec(env_id, "PACKAGE:Remote", {"address": env_id.partition(":")[2]}, description="It is far away.")

def broken(env_id):
    raise KeyError("no such thing")

def careless(env_id):
    return "http://elsewhere"

def astray(env_id):
    return EnvSpec("game:Other-v0", "PACKAGE:Remote")

def picky(env_id):
    from gem.errors import ArgumentError
    raise ArgumentError(f"{env_id} has no port")
"""

TABLE = '[[resolver]]\nprefix = "{prefix}"\nentry_point = "{entry_point}"\ndescription = "Things that are far."\n'


def add(site: PluginSite, distribution: str, prefix: str = "far:", function: str = "resolve", extra: str = "") -> str:
    """Lay out a distribution with a resolver, and return its import name."""
    package = distribution.replace("-", "_")
    table = TABLE.format(prefix=prefix, entry_point=f"{package}:{function}")
    site.add(
        distribution,
        {prefix.rstrip(":"): package},
        {
            f"{package}/__init__.py": CODE.replace("PACKAGE", package),
            f"{package}/environments.toml": f"schema = 1\n{table}{extra}",
        },
    )
    return package


def run(*arguments: str) -> click.testing.Result:
    """Run the command in this process."""
    return click.testing.CliRunner().invoke(cli, arguments, catch_exceptions=False)


def test_an_id_with_the_prefix_is_resolved_whatever_follows(site: PluginSite) -> None:
    """What follows the prefix need not be a name: an address with slashes, ports and colons is an id."""
    add(site, "far-envs")
    with gem.make("far:http://host:8000/game:Sudoku-v0?a=b") as env:
        assert env.reset(seed=1)[0] == "at http://host:8000/game:Sudoku-v0?a=b"
        assert env.spec is not None
        assert (env.spec.distribution, env.spec.version, env.spec.namespace) == ("far-envs", "1.0", "far")


def test_the_spec_survives_json_and_pickle(site: PluginSite) -> None:
    """Workers and records carry the spec, and make the environment from it without the resolver."""
    add(site, "far-envs")
    spec = gem.spec("far:http://host/")
    assert EnvSpec.from_json(spec.to_json()) == spec
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert gem.make(again).reset()[0] == "at http://host/"


def test_make_vec_repeats_and_mixes_resolved_ids(site: PluginSite) -> None:
    """A vector environment takes such ids like any other."""
    add(site, "far-envs")
    with gem.make_vec(["far:a", "far:b"], num_envs=3) as envs:
        assert envs.reset(seed=0)[0] == ["at a", "at b", "at a"]


def test_the_resolver_is_loaded_for_its_prefix_alone(site: PluginSite) -> None:
    """Listing, and asking for other ids, import nothing of the package."""
    package = add(site, "far-envs")
    site.add_thing("near-envs", "near_envs", "near")
    gem.make("near:Thing-v0")
    gem.registry.all_specs()
    assert run("list").exit_code == 0
    assert package not in sys.modules
    gem.spec("far:x")
    assert package in sys.modules


def test_a_listed_id_and_a_registered_one_come_before_the_resolver(site: PluginSite) -> None:
    """The resolver gets the ids that nobody else has."""
    listed = '[[environment]]\nid = "far:Thing-v0"\nentry_point = "far_envs:Remote"\ndescription = "Listed."\n'
    add(site, "far-envs", extra=listed + '[environment.kwargs]\naddress = "home"\n')
    assert gem.make("far:Thing-v0").reset()[0] == "at home"
    assert gem.make("far-envs/far:Thing-v0").reset()[0] == "at home"
    assert gem.make("far:Thing-v1").reset()[0] == "at Thing-v1"
    gem.register("far:Thing-v2", "far_envs:Remote", address="registered")
    try:
        assert gem.make("far:Thing-v2").reset()[0] == "at registered"
    finally:
        gem.registry.unregister("far:Thing-v2")


def test_two_packages_with_one_prefix_are_an_error_that_names_both(site: PluginSite) -> None:
    """The error comes when such an id is asked for, and gem doctor's source has it as well."""
    add(site, "far-envs")
    add(site, "other-far")
    with pytest.raises(EnvironmentConflictError, match=r"far-envs and other-far.*GEM_DISABLE_PLUGINS=other-far"):
        gem.make("far:x")
    assert conflicts()["far:"] == ("far-envs", "other-far")


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("broken", EntryPointError, r"far_envs:broken of far-envs failed: KeyError\('no such thing'\)"),
        ("careless", EntryPointError, "returned 'http://elsewhere'"),
        ("astray", EntryPointError, "'game:Other-v0', which does not begin with 'far:'"),
        ("absent", EntryPointError, "absent"),
        ("picky", gem.errors.ArgumentError, "far:x has no port"),
    ],
)
def test_a_faulty_resolver_is_named(site: PluginSite, function: str, error: type[Exception], message: str) -> None:
    """A defect of a resolver names its package; its own GEM errors are passed on."""
    add(site, "far-envs", function=function)
    with pytest.raises(error, match=message):
        gem.spec("far:x")


@pytest.mark.parametrize("env_id", ["far:", "far: ", "far:a\nb", "far:\x1b[0m"])
def test_nothing_or_control_characters_after_the_prefix_are_no_id(site: PluginSite, env_id: str) -> None:
    """A resolver never sees them."""
    add(site, "far-envs")
    with pytest.raises(InvalidIdError, match="after 'far:' comes an address"):
        gem.spec(env_id)


def test_an_official_prefix_that_is_not_installed_gives_the_install_line(
    site: PluginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table of official namespaces knows the prefixes."""
    monkeypatch.setenv(discovery.SWITCH, "1")
    discovery.clear_caches()
    for prefix, distribution in (("openenv", "gem-bridges"), ("agentgym", "gem-bridges"), ("http", "gem-server")):
        with pytest.raises(UnknownEnvironmentError, match=f"pip install {distribution}"):
            gem.make(f"{prefix}://localhost:8000/x")


def test_a_misspelt_prefix_gives_the_nearest(site: PluginSite) -> None:
    """Prefixes of installed packages and official ones are proposed."""
    add(site, "far-envs", prefix="faraway:")
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'faraway:'"):
        gem.make("farawy:http://host")
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'openenv:'"):
        gem.make("opnenv:http://host")
    with pytest.raises(UnknownEnvironmentError, match="'gem list' shows the prefixes"):
        gem.make("zzzzqqq:http://host")


def test_a_broken_manifest_is_named_where_its_prefix_is_asked_for(site: PluginSite) -> None:
    """The prefix is claimed, and its table cannot be read."""
    package = add(site, "far-envs")
    (site.folder / package / "environments.toml").write_text("schema = 1\n[[resolver]]\nprefix = 3\n")
    discovery.clear_caches()
    with pytest.raises(UnknownEnvironmentError, match=r"far-envs: .*resolver\[0\]\.prefix"):
        gem.make("far:http://host")


def test_a_prefix_without_its_entry_point_is_a_problem(site: PluginSite) -> None:
    """Discovery finds prefixes by entry points, so one without is reported by gem doctor."""
    add(site, "far-envs", extra=TABLE.format(prefix="unclaimed:", entry_point="far_envs:resolve"))
    problems = [problem.message for problem in discovery.unclaimed_problems() if problem.distribution == "far-envs"]
    assert len(problems) == 1
    assert 'unclaimed = "far_envs"' in problems[0]


def test_gem_list_has_one_line_for_a_resolver(site: PluginSite) -> None:
    """The line has prefix, description and package; --json and --ids list environments, and a prefix is none."""
    add(site, "far-envs")
    lines = [line for line in run("list").output.splitlines() if "far:" in line]
    assert len(lines) == 1
    assert "Things that are far." in lines[0]
    for choice in (["far"], ["far:"], ["--package", "far-envs"]):
        assert "far:" in run("list", *choice).output
        assert json.loads(run("list", *choice, "--json").output) == []
        assert run("list", *choice, "--ids").output == ""


def test_the_commands_take_resolved_ids(site: PluginSite, tmp_path: Path) -> None:
    """The commands info, play and rollout pass ids on unchanged."""
    add(site, "far-envs")
    shown = run("info", "far:http://host/")
    assert "at http://host/" in shown.output
    assert "It is far away." in shown.output
    played = click.testing.CliRunner().invoke(cli, ["play", "far:http://host/"], input="hello\n")
    assert "hello at http://host/" in played.output
    out = tmp_path / "episodes.jsonl"
    assert run("rollout", "far:http://host/", "--agent", "null", "--episodes", "2", "--out", str(out)).exit_code == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {record["spec"]["id"] for record in records} == {"far:http://host/"}


FAULTS = st.sampled_from(
    [
        {"prefix": "far"},
        {"prefix": "f r:"},
        {"prefix": ":"},
        {"prefix": "far://"},
        {"prefix": 3},
        {"entry_point": ""},
        {"entry_point": ["a:b"]},
        {"description": ""},
        {"description": None},
        {"colour": "red"},
    ]
)


@given(FAULTS)
def test_the_fast_reader_refuses_what_the_schema_refuses(tmp_path_factory: pytest.TempPathFactory, fault: dict) -> None:
    """A fault in a resolver's table is an error of both readers."""
    values = {"prefix": "far:", "entry_point": "far_envs:resolve", "description": "Far.", **fault}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    path = tmp_path_factory.mktemp("manifest") / "environments.toml"
    path.write_text("\n".join(["schema = 1", "[[resolver]]", *lines]))
    with pytest.raises(ManifestError, match="resolver"):
        read_manifest(path)
    with pytest.raises(ManifestError, match="resolver"):
        validate(parse(path), path)


def test_a_manifest_offers_something_and_each_prefix_once(tmp_path: Path) -> None:
    """Resolvers alone are enough; nothing at all, and a prefix twice, are faults."""
    path = tmp_path / "environments.toml"
    table = TABLE.format(prefix="far:", entry_point="far_envs:resolve")
    path.write_text(f"schema = 1\n{table}")
    assert [one.prefix for one in read_manifest(path).resolvers] == ["far:"]
    assert [one.prefix for one in validate(parse(path), path).resolver] == ["far:"]
    path.write_text(f"schema = 1\n{table}{table}")
    with pytest.raises(ManifestError, match="'far:' is declared twice"):
        read_manifest(path)
    path.write_text("schema = 1\n")
    with pytest.raises(ManifestError, match="offers nothing"):
        read_manifest(path)
