"""Which hubs there are, and where what is known of them lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import OFFICIAL, hub_at, hubs, use
from gem_hub_client.errors import HubError
from gem_hub_client.folders import cache_root, config_file
from gem_hub_client.installed import announcing, offered_environments
from gem_hub_client.names import checked_name, is_name, page_path, short_name

if TYPE_CHECKING:
    from conftest import HubFolder

pytestmark = pytest.mark.usefixtures("own_folders")


def test_without_a_choice_there_is_the_official_index() -> None:
    """The default is the snapshot inside gem-core, which is no address on a network."""
    (hub,) = hubs()
    assert hub.name == OFFICIAL
    assert not hub.remote
    assert (Path(hub.location) / "root.json").is_file()


def test_the_file_is_used_and_the_variable_overrides_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """'gem hub use' sets the default; GEM_HUB, with one or several hubs, goes first."""
    use([hub_at("https://one.example/hub"), hub_at(OFFICIAL)])
    assert [hub.name for hub in hubs()] == ["https://one.example/hub/", "official"]
    monkeypatch.setenv("GEM_HUB", f"http://two.example:8000 {tmp_path} http://two.example:8000/")
    assert [hub.location for hub in hubs()] == ["http://two.example:8000/", str(tmp_path)]
    monkeypatch.setenv("GEM_HUB", " ")
    assert [hub.name for hub in hubs()] == ["https://one.example/hub/", "official"]
    use([])
    assert [hub.name for hub in hubs()] == ["official"]
    assert not config_file().exists()


def test_the_folders_follow_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG variables decide; without them the configuration and the cache lie below the home folder."""
    assert config_file().parent.parent == Path(__import__("os").environ["XDG_CONFIG_HOME"])
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("gem_hub_client.folders.sys.platform", "linux")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_root() == Path("/home/somebody/.cache/gem/hub")
    monkeypatch.setattr("gem_hub_client.folders.sys.platform", "darwin")
    assert cache_root() == Path("/home/somebody/Library/Caches/gem/hub")


def test_a_folder_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, a relative path and a file URL of one folder are one hub."""
    folder = tmp_path / "a hub"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    addresses = [str(folder), "a hub", folder.as_uri(), f"{folder.as_uri()}/", f"FILE://localhost{folder.as_uri()[7:]}"]
    assert {hub_at(address) for address in addresses} == {hub_at(str(folder))}


def test_hubs_have_caches_of_their_own(tmp_path: Path) -> None:
    """No two addresses share a folder of cached data."""
    addresses = ["official", "https://a.example", "http://a.example", "https://a.example/b", str(tmp_path)]
    assert len({hub_at(address).cache for address in addresses}) == len(addresses)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://a.example/hub",
        "https://",
        "https://?x",
        "https://a.example/hub?x=1",
        "https://a.example/hub#x",
        "https://a.example\\@b.example/",
        "https://bücher.example/",
        "file://server/share",
        "javascript://x",
        "http://[::1",
        "https://[x]/",
        "https://a.example:99999/",
        "https://a.example:port/",
        "https://:443/",
        "https://a.example/\x1b[2J",
        "https://a.example/two words",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """An address that cannot be a hub's is refused in one sentence that says what can."""
    with pytest.raises(HubError, match="write "):
        hub_at(address)


def test_a_password_is_never_repeated() -> None:
    """A user name and password in an address are refused, and the message does not show them."""
    with pytest.raises(HubError) as refused:
        hub_at("https://me:secret@a.example/hub")
    assert "secret" not in str(refused.value)


@given(
    st.text(max_size=50) | st.text(max_size=30).map("https://{}".format) | st.text(max_size=30).map("file://{}".format)
)
def test_any_text_is_an_address_or_refused(address: str) -> None:
    """No text makes hub_at raise anything but HubError."""
    try:
        hub = hub_at(address)
    except HubError:
        return
    assert hub.remote or Path(hub.location).is_absolute()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 2, "hubs": []}', '{"format": 1, "hubs": [1]}', "[" * 9999]
)
def test_a_damaged_file_says_how_to_mend_it(text: str) -> None:
    """A configuration file that cannot be read is named, with the command that writes a new one."""
    config_file().parent.mkdir(parents=True)
    config_file().write_text(text)
    with pytest.raises(HubError, match=r"hubs\.json: .*run: gem hub use official"):
        hubs()


def test_a_damaged_file_can_be_mended() -> None:
    """The command that the message names works."""
    config_file().parent.mkdir(parents=True)
    config_file().write_text("{")
    assert CliRunner().invoke(hub_command, ["use", "official"]).exit_code == 0
    assert [hub.name for hub in hubs()] == ["official"]


def test_use_looks_before_it_writes(hub_folder: HubFolder, tmp_path: Path) -> None:
    """'gem hub use' refuses what is no hub and changes nothing; --unchecked skips that."""
    runner = CliRunner()
    done = runner.invoke(hub_command, ["use", str(hub_folder.folder), "official"])
    assert done.stdout.splitlines() == [str(hub_folder.folder), "official"]
    assert f"{hub_folder.folder} is not signed" in done.stderr
    refused = runner.invoke(hub_command, ["use", str(tmp_path / "nothing")])
    assert refused.exit_code == 1
    assert "there is no such file; nothing was changed" in refused.output
    assert json.loads(config_file().read_text())["hubs"] == [str(hub_folder.folder), "official"]
    assert runner.invoke(hub_command, ["use", "--unchecked", "https://a.example"]).exit_code == 0
    again = runner.invoke(hub_command, ["use"])
    assert again.stdout == "https://a.example/\n"
    assert "was not asked yet" in again.stderr


def test_use_says_that_the_variable_overrides_it(hub_folder: HubFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where GEM_HUB is set, a choice that will have no effect says so."""
    monkeypatch.setenv("GEM_HUB", "official")
    assert "GEM_HUB is set and overrides" in CliRunner().invoke(hub_command, ["use", str(hub_folder.folder)]).output


@given(st.text(max_size=80))
def test_a_name_never_leads_out_of_its_folder(text: str) -> None:
    """Whatever is asked for, the path of a page is one plain file name below envs/, or refused."""
    try:
        path = page_path(text)
    except HubError:
        return
    name = path.removeprefix("envs/").removesuffix(".json")
    assert is_name(name)
    assert Path(path).parts == ("envs", f"{name}.json")
    assert checked_name(name) == name
    assert short_name(name)


def test_names_are_compared_as_indexes_do() -> None:
    """PEP 503: case and runs of '-', '_' and '.' make no difference."""
    assert checked_name("GEM_Envs..Games") == "gem-envs-games"
    assert short_name("gem-envs-games") == "games"
    assert short_name("gem-envs-") == "gem-envs-"
    assert not is_name("a" * 65)
    assert not is_name("-a")
    assert not is_name("a\n")


@pytest.mark.parametrize("manifest", ["a = " + "[" * 20_000, "a = " + "9" * 5_000, "environment = 5", "\udcff"])
def test_an_installed_manifest_that_cannot_be_read_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str
) -> None:
    """Whatever a package has installed beside its code, the ids of the others are known."""
    for name, text in (("odd", manifest), ("sound", '[[environment]]\nid = "sound:Thing-v0"\n')):
        info, package = tmp_path / f"{name}_envs-1.dist-info", tmp_path / f"{name}_envs"
        info.mkdir()
        package.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-envs\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[gem.envs]\n{name} = {name}_envs\n")
        (info / "direct_url.json").write_text("[" * 100_000)
        (package / "__init__.py").touch()
        (package / "environments.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    monkeypatch.syspath_prepend(tmp_path)
    assert offered_environments()["sound:Thing-v0"] == {"sound-envs"}
    assert {"odd-envs", "sound-envs"} <= {package.name for package in announcing()}
