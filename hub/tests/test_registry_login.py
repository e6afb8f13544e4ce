"""The commands of a person and of a workflow against a running registry: login, publish, tokens, owners, publishers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from local_issuer import GITLAB_CLAIMS, RUNNER_SECRET, LocalIssuer, tls_server
from registry_server import GENEROUS, RunningRegistry, running_registry, toy_wheel
from test_trusted_publishing import PUBLISHER, TrustedRegistry, claims_for, configured, trusted_registry

from gem_hub.accounts import account
from gem_hub.events import Conformance
from gem_hub.registry.settings import RegistrySettings
from gem_hub_client.cli.group import hub_command
from gem_hub_client.registry.credentials import credentials_file, logins
from gem_testing.scaffold.project import EXAMPLES, Project

GemHub = Callable[..., Result]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    with running_registry(tmp_path_factory.mktemp("login") / "hub") as running:
        yield running


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], GemHub]:
    """A function that returns ``gem hub`` as somebody with a home of their own runs it, in a folder that is no hub."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GEM_HUB", raising=False)

    def of(name: str) -> GemHub:
        def run(*arguments: str | Path, stdin: str | None = None) -> Result:
            monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / name / "config"))
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name / "cache"))
            return CliRunner().invoke(hub_command, list(map(str, arguments)), input=stdin)

        return run

    return of


def done(result: Result) -> Any:
    """Return the JSON that a command printed; it must have succeeded."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_person_logs_in_publishes_and_manages(
    registry: RunningRegistry, person: Callable[[str], GemHub], tmp_path: Path
) -> None:
    """Every command of the guide in its order, with what it changes in the hub, and what a stranger may not."""
    hub = f"http://127.0.0.1:{registry.port}/"
    ada, bob = person("ada"), person("bob")
    assert done(ada("login", "--hub", hub, "--name", "ada-l", "--json"))["account"] == "ada-l"
    assert done(bob("login", "--hub", hub, "--name", "bob-l", "--json"))["account"] == "bob-l"
    assert "is taken" in person("eve")("login", "--hub", hub, "--name", "ada-l").stderr
    me = done(ada("whoami", "--json"))
    assert (me["account"], me["scopes"]) == ("ada-l", ["manage", "publish", "read"])

    wheel = toy_wheel(tmp_path / "dist", "person-envs")
    done(ada("use", hub, "--json"))
    assert "'gem hub update' loads what is new" in ada("search", "person").stderr
    first = done(ada("publish", "--json"))["wheels"]
    assert "person-envs" in ada("search", "person").stdout, "the next search finds what was published here"
    assert [(one["name"], one["version"], one["state"]) for one in first] == [("person-envs", "0.1.0", "published")]
    assert first[0]["filename"] == wheel.name
    assert done(ada("publish", wheel, "--json"))["wheels"][0]["state"] == "already published"
    stolen = bob("publish", toy_wheel(tmp_path / "b", "person-envs", "0.2.0"))
    assert stolen.exit_code == 1
    assert "belongs to ada-l" in stolen.stderr
    store = registry.services.store

    assert ada("yank", "Person_Envs", "0.1.0", "--reason", "wrong").exit_code == 0
    assert store.existing("person-envs").yanked == {"0.1.0": "wrong"}
    assert "ada-l" in bob("unyank", "person-envs", "0.1.0").stderr
    assert ada("unyank", "person-envs", "0.1.0").exit_code == 0
    assert store.existing("person-envs").yanked == {}
    assert ada("deprecate", "person-envs", "--reason", "old").exit_code == 0
    assert store.existing("person-envs").status == "deprecated"
    assert ada("deprecate", "person-envs", "--lift").exit_code == 0
    assert "operators" in ada("quarantine", "person-envs", "--reason", "bad").stderr
    assert done(ada("owner", "list", "person-envs", "--json")) == ["ada-l"]
    assert ada("owner", "add", "person-envs", "bob-l").exit_code == 0
    assert done(bob("publish", tmp_path / "b" / "person_envs-0.2.0-py3-none-any.whl", "--json"))
    assert bob("owner", "remove", "person-envs", "ada-l").exit_code == 0
    assert store.existing("person-envs").owners == ["bob-l"]
    assert ada("report", "person-envs", "--kind", "spam", "--summary", "empty").exit_code == 0
    assert store.existing("person-envs").status == "active"

    made = done(bob("tokens", "new", "ci", "--package", "person-envs", "--days", "7", "--json"))
    listed = done(bob("tokens", "list", "--json"))
    assert [one["label"] for one in listed] == ["first token", "ci"]
    assert listed[1]["packages"] == ["person-envs"]
    assert "person-envs" in bob("tokens", "list").stdout
    laptop = person("laptop")
    assert laptop("login", "--hub", hub, stdin=made["token"]).exit_code == 0
    assert laptop("yank", "person-envs", "0.2.0", "--reason", "x").exit_code == 1
    assert bob("tokens", "revoke", str(made["id"])).exit_code == 0
    assert "gem hub login" in laptop("publish", wheel).stderr

    assert bob("logout").exit_code == 0
    assert logins() == {}
    assert "not logged in" in bob("whoami", "--hub", hub).stderr
    assert registry.services.tokens.of(registry.services.accounts.find("bob-l").id) == []  # type: ignore[union-attr]


def test_an_invite_is_asked_for_and_used_once(person: Callable[[str], GemHub], tmp_path: Path) -> None:
    """Where registration takes invites, the command says so, and one code makes one account."""
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, registration="invite")
    with running_registry(tmp_path / "hub", settings) as registry:
        hub = f"http://127.0.0.1:{registry.port}/"
        code = registry.services.accounts.invite("operator", 3600)
        assert "invite" in person("a")("login", "--hub", hub, "--name", "first-one").stderr
        assert person("a")("login", "--hub", hub, "--name", "first-one", "--invite", code).exit_code == 0
        assert person("b")("login", "--hub", hub, "--name", "second-one", "--invite", code).exit_code == 1


def test_wait_tells_the_kits_result(
    registry: RunningRegistry, person: Callable[[str], GemHub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends when the queue has, with exit code 0 for a good result and 1 for a bad one or none."""
    hub = f"http://127.0.0.1:{registry.port}/"
    ada = person("waiter")
    assert ada("login", "--hub", hub, "--name", "waiter").exit_code == 0
    services = registry.services
    outcomes = {"good-envs": ("done", 0, 0), "bad-envs": ("done", 1, 1), "odd-envs": ("failed", None, 1)}
    for name, (state, violated, code) in outcomes.items():
        wheel = toy_wheel(tmp_path / "dist", name)

        def kit(seconds: float, name: str = name, state: str = state, violated: int | None = violated) -> None:
            """Do what the worker does, while the command waits."""
            while (check := services.queue.take()) is not None and check.name != name:
                services.queue.finish(check, "done")
            assert check is not None
            if violated is not None:
                services.store.add_event(result_of(name, check.version, check.sha256, violated))
            services.queue.finish(check, state, "no result" if violated is None else "")

        monkeypatch.setattr("gem_hub_client.cli.publish.time.sleep", kit)
        waited = ada("publish", wheel, "--wait")
        assert waited.exit_code == code, waited.output
        shown = {None: "no result", 0: "0 violated", 1: "1 violated"}[violated]
        assert shown in waited.output


def result_of(name: str, version: str, sha256: str, violated: int) -> Conformance:
    """Return the event of a run of the kit by the hub."""
    clauses = [{"clause": f"c{number}", "outcome": "violated" if number < violated else "holds"} for number in range(3)]
    package = {
        "distribution": name,
        "version": version,
        "environments": [{"id": f"{name}:Thing-v0", "clauses": clauses}],
    }
    record: dict[str, Any] = {"gem_core": "0.1.0", "packages": [package]}
    return Conformance(name=name, version=version, record=record, isolation="jail", sha256=sha256, by=account())


# Workflows.


@pytest.fixture(scope="module")
def trusting(
    issuer: LocalIssuer, tls: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TrustedRegistry]:
    """A registry over TLS that takes the issuer for GitHub, and for a GitLab as well."""
    issuers = [
        {"name": "local", "url": issuer.url, "provider": "github"},
        {"name": "forge", "url": f"{issuer.url}/forge", "provider": "gitlab", "jwks_url": f"{issuer.url}/keys"},
    ]
    with trusted_registry(tmp_path_factory.mktemp("trusting") / "hub", issuers, tls) as running:
        yield running


def on_github(monkeypatch: pytest.MonkeyPatch, issuer: LocalIssuer, claims: dict[str, Any]) -> None:
    """Make this process look like a job on GitHub."""
    issuer.runner_claims = claims
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{issuer.url}/token?job=1")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", RUNNER_SECRET)


def test_a_job_on_github_publishes_without_a_login(
    trusting: TrustedRegistry,
    issuer: LocalIssuer,
    person: Callable[[str], GemHub],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It asks for a token for its packages alone, publishes, and ends the token; nothing is stored."""
    configured(trusting, "job-envs")
    on_github(monkeypatch, issuer, claims_for("job-envs"))
    toy_wheel(tmp_path / "dist", "job-envs")
    job = person("job")
    assert job("publish", "--hub", trusting.origin, "--trusted-publishing", "never").exit_code == 1
    assert done(job("publish", "--hub", trusting.origin, "--json"))["wheels"][0]["state"] == "published"
    assert trusting.services.store.existing("job-envs").owners == ["ada-job-envs"]
    assert not credentials_file().exists()
    lines = trusting.services.audit.lines(most=1000)
    assert [line["action"] for line in lines][-3:] == ["publisher.mint", "upload", "publisher.burn"]
    refused = job("publish", toy_wheel(tmp_path / "b", "foreign-envs"), "--hub", trusting.origin)
    assert refused.exit_code == 1
    assert "job-envs: is not what is published" in refused.stderr


def test_a_job_on_gitlab_publishes_without_a_login(
    trusting: TrustedRegistry,
    issuer: LocalIssuer,
    person: Callable[[str], GemHub],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Its identity token lies in the variable that is named after the hub's host."""
    body = {"issuer": "forge", "project": "lab/envs/mine", "workflow": ".gitlab-ci.yml"}
    owner = trusting.account("lab")
    assert trusting.send("POST", "/api/v1/packages/lab-envs/publishers", body, owner).status == 201
    host = issuer.url.removeprefix("https://")
    claims = {
        **GITLAB_CLAIMS,
        "iss": f"{issuer.url}/forge",
        "ci_config_ref_uri": f"{host}/lab/envs/mine//.gitlab-ci.yml@refs/tags/v0.1.0",
    }
    token = issuer.sign({**issuer.claims(trusting.audience, claims), "iss": f"{issuer.url}/forge"})
    monkeypatch.setenv("GITLAB_CI", "true")
    name = "".join(character if character.isalnum() else "_" for character in trusting.audience.upper())
    wheel = toy_wheel(tmp_path / "dist", "lab-envs")
    missing = person("job")("publish", wheel, "--hub", trusting.origin, "--trusted-publishing", "always")
    assert f"{name}_ID_TOKEN" in missing.stderr
    monkeypatch.setenv(f"{name}_ID_TOKEN", token)
    assert done(person("job")("publish", wheel, "--hub", trusting.origin, "--json"))


ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    "another hub's audience": ({"/_/oidc/audience": {"audience": "other-hub.example"}}, "and not for itself"),
    "the public index's audience": ({"/_/oidc/audience": {"audience": "pypi"}}, "and not for itself"),
    "no audience": ({"/_/oidc/audience": {}}, "no 'audience'"),
    "endpoints at another host": (
        {"/.well-known/pytp": {"token-mint-endpoint": "https://evil.example/mint"}},
        "another host",
    ),
    "endpoints at a host with this one as a prefix": (
        {"/.well-known/pytp": {"token-mint-endpoint": "{origin}@evil.example/mint"}},
        "another host",
    ),
    "unencrypted endpoints": ({"/.well-known/pytp": {"audience-endpoint": "http://127.0.0.1/"}}, "another host"),
    "a discovery that is a list": ({"/.well-known/pytp": ["x"]}, "PEP 807"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_registry_gets_no_identity_token(
    attack: str,
    issuer: LocalIssuer,
    tls: tuple[Path, Path],
    person: Callable[[str], GemHub],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A token for another registry, or one that would be sent elsewhere, is not even requested."""
    answers, reason = ATTACKS[attack]

    def answer(path: str, bearer: str) -> tuple[int, bytes, dict[str, str]]:
        value = answers.get(path.partition("?")[0])
        return (404, b"", {}) if value is None else (200, json.dumps(value).encode(), {})

    on_github(monkeypatch, issuer, claims_for("any-envs"))
    before = len(issuer.requests)
    wheel = toy_wheel(tmp_path / "dist", "any-envs")
    with tls_server(answer, *tls) as origin:
        answers = json.loads(json.dumps(answers).replace("{origin}", origin))
        if "audience-endpoint" not in str(answers) and "/_/oidc/audience" not in answers:
            answers = {**answers, "/_/oidc/audience": {"audience": origin.removeprefix("https://")}}
        refused = person("job")("publish", wheel, "--hub", origin, "--trusted-publishing", "always")
    assert refused.exit_code == 1
    assert reason in refused.stderr
    assert len(issuer.requests) == before


def test_an_unencrypted_request_for_an_identity_token_is_not_made(
    trusting: TrustedRegistry,
    issuer: LocalIssuer,
    person: Callable[[str], GemHub],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The job's secret stays where it is."""
    on_github(monkeypatch, issuer, claims_for("any-envs"))
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", "http://127.0.0.1:9/token")
    wheel = toy_wheel(tmp_path / "dist", "any-envs")
    refused = person("job")("publish", wheel, "--hub", trusting.origin, "--trusted-publishing", "always")
    assert "not encrypted" in refused.stderr


@pytest.mark.slow(reason="runs the scripts of a workflow as a runner does")
def test_the_workflow_of_gem_new_publishes(
    trusting: TrustedRegistry, issuer: LocalIssuer, tls: tuple[Path, Path], tmp_path: Path
) -> None:
    """Its job has the right to an identity and no secret, and its scripts publish the wheel that the tag names."""
    project = Project("flow-envs", "flow_envs", "flow", "Some.", "Me", "MIT", (EXAMPLES["multi"],))
    text = project.files()[".github/workflows/ci.yml"]
    job = yaml.safe_load(text)["jobs"]["publish"]
    assert job["permissions"] == {"id-token": "write"}
    assert "secrets." not in text.partition("  publish:\n")[2].partition("  # For a hub")[0]
    # What the comment in the workflow tells an owner to configure is what matches it.
    token = trusting.account("flow-owner")
    wanted = {**PUBLISHER, "repository": "ada/flow-envs", "environment": job["environment"]}
    assert f"--workflow {PUBLISHER['workflow']} --environment {job['environment']}" in text
    assert trusting.send("POST", "/api/v1/packages/flow-envs/publishers", wanted, token).status == 201
    issuer.runner_claims = claims_for("flow-envs", environment=job["environment"])
    toy_wheel(tmp_path / "dist", "flow-envs")
    (tmp_path / "gem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gem "$@"\n', encoding="utf-8")
    (tmp_path / "gem").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "SSL_CERT_FILE": str(tls[0]),
        "NO_PROXY": "*",
        "HUB": trusting.origin,
        "GITHUB_REF_NAME": "v0.1.0",
        "GITHUB_ACTIONS": "true",
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{issuer.url}/token?job=1",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": RUNNER_SECRET,
    }
    trusting.services.conformance_note = "not run: this hub has no sandbox for the code of strangers"
    scripts = [step["run"] for step in job["steps"] if "name" in step]
    assert len(scripts) == 2
    for script in scripts:
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert trusting.services.store.existing("flow-envs").owners == ["flow-owner"]
    environment["GITHUB_REF_NAME"] = "v0.2.0"
    wrong = subprocess.run(["bash", "-e", "-c", scripts[0]], cwd=tmp_path, env=environment, check=False)
    assert wrong.returncode == 1
