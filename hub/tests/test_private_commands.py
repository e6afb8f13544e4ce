"""Commands that read a private package: for members, without a trace of the token, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from registry_server import GENEROUS, RunningRegistry, running_registry, toy_wheel, upload_form

from gem_hub.registry.settings import RegistrySettings
from gem_hub_client.cli.group import hub_command
from gem_hub_client.registry.credentials import Login, remember

SECRET = "zebra-worlds"
COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", SECRET),
    "results": ("info", SECRET, "--results"),
    "results list": ("results", "list", SECRET),
    "sbom": ("sbom", f"{SECRET}==0.1.0"),
    "diff": ("diff", SECRET, "0.1.0", "0.2.0"),
    "search": ("search", "zebra"),
    "list": ("list",),
    "verify": ("verify",),
    "plan": ("install", SECRET, "--dry-run"),
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]) -> Iterator[RunningRegistry]:
    """A registry with two releases of a private package of acme."""
    folder = tmp_path_factory.mktemp("private")
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, registration="open")
    with running_registry(folder / "hub", settings, new_database()) as running:
        mona = running.account("mona")
        assert mona.send("POST", "/api/v1/organisations", {"name": "acme"}).status == 201
        for version in ("0.1.0", "0.2.0"):
            body, content_type = upload_form(toy_wheel(folder / "dist", SECRET, version), {})
            assert mona.send("POST", "/private/acme/upload/", body, Content_Type=content_type).status == 200
        yield running


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize(
    "command", [name if name == "verify" else pytest.param(name, marks=pytest.mark.nightly) for name in COMMANDS]
)
def test_a_member_reads_and_no_stranger_does(
    registry: RunningRegistry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """Without a login and with a stranger's, no command shows the package; no output and no cache has a token."""
    address = f"http://127.0.0.1:{registry.port}/"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEM_HUB", f"{address}private/acme/")

    def said() -> tuple[int, str]:
        done = CliRunner().invoke(hub_command, COMMANDS[command])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    for login in (None, Login(registry.account("sven").token, "sven")):
        if login is not None:
            remember(address, login)
        code, output = said()
        assert code != 0, output
        assert "zebra-worlds 0" not in output
        assert "404" in output or "No package" in output, output
    token = registry.account("mona").token
    kept = remember(address, Login(token, "mona"))
    code, output = said()
    assert (code, token in output) == (0, False), output
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and path != kept and token.encode() in path.read_bytes()
    ]
