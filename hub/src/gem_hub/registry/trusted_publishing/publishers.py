"""Publishers: which workflow of which repository may publish a package, and whether an identity is that workflow.

A name can be registered anew by somebody else after its owner gave it up. The numeric ids of a repository and its owner
never come back, so a publisher is bound to them: by its configuration, or else by the first accepted identity.

Sources: GitHub, "OpenID Connect reference"; GitLab, "OpenID Connect (OIDC) authentication using ID tokens".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from gem_hub.registry.trusted_publishing.errors import IdentityRefused
from gem_hub.registry.trusted_publishing.identity import VerifiedIdentity
from gem_hub.registry.trusted_publishing.issuers import Issuer, Provider

__all__ = ["TrustedPublisher", "mismatch", "pins", "place_of", "read_publisher"]

_ID = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_GITHUB_REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}", re.ASCII)
_GITLAB_PROJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)+", re.ASCII)
_WORKFLOW = re.compile(r"[A-Za-z0-9_.-]+\.ya?ml", re.ASCII)
_CONFIG_FILE = re.compile(r"(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+\.ya?ml", re.ASCII)
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,255}")
_CLAIM = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_MOST_CLAIMS = 10

_FORMS: dict[Provider, tuple[dict[str, re.Pattern[str]], dict[str, re.Pattern[str]]]] = {
    "github": (
        {"repository": _GITHUB_REPOSITORY, "workflow": _WORKFLOW},
        {"environment": _LINE, "repository_id": _ID, "repository_owner_id": _ID},
    ),
    "gitlab": (
        {"project": _GITLAB_PROJECT, "workflow": _CONFIG_FILE},
        {"environment": _LINE, "project_id": _ID, "namespace_id": _ID},
    ),
    "claims": ({"subject": _LINE}, {}),
}
"""Provider → the required and the optional fields of a publisher."""

_PINNED: dict[Provider, tuple[str, ...]] = {
    "github": ("repository_id", "repository_owner_id"),
    "gitlab": ("project_id", "namespace_id"),
    "claims": (),
}
"""Provider → the numeric claims to which a publisher is bound."""

_UNTRUSTED_EVENTS = ("pull_request_target", "merge_request_event", "external_pull_request_event")
"""Events whose workflow runs with the repository's identity and may run code of a person without rights in it."""


@dataclass(frozen=True)
class TrustedPublisher:
    """A workflow that may publish a package."""

    issuer: str
    """The name of its issuer."""
    provider: Provider
    fields: Mapping[str, str]
    """The fields of its provider, without the pinned ids."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """Further claims that must have exactly these values; for the provider ``claims``."""
    pinned: Mapping[str, str] = field(default_factory=dict)
    """Numeric claims that must have exactly these values, as far as they are known."""

    def __str__(self) -> str:
        place = self.fields.get("repository") or self.fields.get("project") or self.fields.get("subject", "")
        workflow = f", {self.fields['workflow']}" if "workflow" in self.fields else ""
        environment = f", environment {self.fields['environment']}" if "environment" in self.fields else ""
        return f"{self.issuer}: {place}{workflow}{environment}"

    def to_dict(self) -> dict[str, Any]:
        """Return the publisher as JSON values."""
        return {"issuer": self.issuer, **self.fields, **self.pinned, **({"claims": self.claims} if self.claims else {})}


def read_publisher(document: object, issuer: Issuer) -> TrustedPublisher:
    """Return a publisher from a request of an owner.

    Raises:
        IdentityRefused: if a field is missing, unknown or has no acceptable value.
    """
    given = dict(document) if isinstance(document, Mapping) else {}
    given.pop("issuer", None)
    required, optional = _FORMS[issuer.provider]
    claims = given.pop("claims", {}) if issuer.provider == "claims" else {}
    unknown = sorted(set(map(str, given)) - {*required, *optional})
    if unknown:
        known = ", ".join([*required, *optional])
        raise _invalid(f"a publisher at {issuer.name} has no field {unknown[0][:40]!r}; there are {known}")
    for name, form in {**required, **optional}.items():
        value = given.get(name)
        if value in (None, "") and name in optional:
            given.pop(name, None)
        elif isinstance(value, int) and not isinstance(value, bool) and form is _ID:
            given[name] = str(value)
        if name in given and (not isinstance(given[name], str) or not form.fullmatch(given[name])):
            raise _invalid(f"{name} is {str(value)[:80]!r}; {_advice(issuer.provider, name)}")
        if name in required and name not in given:
            raise _invalid(f"{name} is missing; {_advice(issuer.provider, name)}")
    if not isinstance(claims, Mapping) or len(claims) > _MOST_CLAIMS:
        raise _invalid(f"claims must be an object of at most {_MOST_CLAIMS} texts")
    for name, value in claims.items():
        if not _CLAIM.fullmatch(str(name)) or not isinstance(value, str) or not _LINE.fullmatch(value):
            raise _invalid(f"the claim {str(name)[:40]!r} needs a name in lower case and a text as its value")
    if "environment" in given and issuer.provider == "github":
        given["environment"] = given["environment"].lower()  # GitHub's are not case-sensitive
    pinned = {name: given.pop(name) for name in _PINNED[issuer.provider] if name in given}
    return TrustedPublisher(issuer.name, issuer.provider, given, dict(claims), pinned)


def mismatch(publisher: TrustedPublisher, identity: VerifiedIdentity) -> str:
    """Return why an identity is not that of a publisher; empty if it is.

    Raises:
        IdentityRefused: if the identity lacks a claim that its provider always sends, or comes from an event that runs
            code of strangers.
    """
    checks = {"github": _github, "gitlab": _gitlab, "claims": _listed_claims}
    return next((reason for reason in checks[publisher.provider](publisher, identity) if reason), "")


def place_of(publisher: TrustedPublisher) -> str:
    """Return the repository, project or subject of a publisher, in one case where the provider knows no case."""
    place = publisher.fields.get("repository") or publisher.fields.get("project")
    return place.casefold() if place else publisher.fields["subject"]


def pins(publisher: TrustedPublisher, identity: VerifiedIdentity) -> dict[str, str]:
    """Return the numeric ids of an identity to which its publisher is bound from now on."""
    return {name: _number(identity, name) for name in _PINNED[publisher.provider]}


def _github(publisher: TrustedPublisher, identity: VerifiedIdentity) -> Iterator[str]:
    claim = _text_claims(identity)
    event = claim("event_name")
    if event in _UNTRUSTED_EVENTS:
        raise IdentityRefused(
            "event", f"the workflow ran on {event}, which can run code of strangers; use push or release"
        )
    repository = claim("repository")
    # Names on GitHub are not case-sensitive; a path inside a repository is.
    if repository.casefold() != publisher.fields["repository"].casefold():
        yield f"the repository is {repository}"
    if claim("repository_owner").casefold() != repository.partition("/")[0].casefold():
        yield "the claims repository and repository_owner contradict each other"
    yield from _other_ids(publisher, identity)
    # job_workflow_ref is the file that defines the job, also where another repository's workflow calls it.
    path = f"{repository}/.github/workflows/{publisher.fields['workflow']}"
    ref, sha, workflow = claim("ref"), claim("sha"), claim("job_workflow_ref")
    if workflow not in (f"{path}@{ref}", f"{path}@{sha}"):
        yield f"the job's workflow is {workflow}, not {path} at {ref}"
    yield from _other_environment(publisher, identity, fold=True)


def _gitlab(publisher: TrustedPublisher, identity: VerifiedIdentity) -> Iterator[str]:
    claim = _text_claims(identity)
    source = claim("pipeline_source")
    if source in _UNTRUSTED_EVENTS:
        raise IdentityRefused(
            "event", f"the pipeline ran for {source}, which can run code of strangers; publish from tags"
        )
    project = claim("project_path")
    if project.casefold() != publisher.fields["project"].casefold():
        yield f"the project is {project}"
    yield from _other_ids(publisher, identity)
    path = f"{identity.issuer.host}/{project}//{publisher.fields['workflow']}"
    ref, sha, config = claim("ref_path"), claim("sha"), claim("ci_config_ref_uri")
    if config not in (f"{path}@{ref}", f"{path}@{sha}"):
        yield f"the pipeline's configuration is {config}, not {path} at {ref}"
    yield from _other_environment(publisher, identity, fold=False)


def _listed_claims(publisher: TrustedPublisher, identity: VerifiedIdentity) -> Iterator[str]:
    for name, value in {"sub": publisher.fields["subject"], **publisher.claims}.items():
        if identity.claims.get(name) != value:
            yield f"the claim {name} is {_said(identity.claims.get(name))}"


def _other_ids(publisher: TrustedPublisher, identity: VerifiedIdentity) -> Iterator[str]:
    for name in _PINNED[publisher.provider]:
        number = _number(identity, name)
        if publisher.pinned.get(name, number) != number:
            yield (
                f"{name} is {number}, and the publisher is bound to {publisher.pinned[name]}: another repository has "
                "the same name now; an owner of the package can remove the publisher and add it again"
            )


def _other_environment(publisher: TrustedPublisher, identity: VerifiedIdentity, fold: bool) -> Iterator[str]:
    wanted, value = publisher.fields.get("environment"), identity.claims.get("environment")
    actual = value.lower() if fold and isinstance(value, str) else value
    if wanted is not None and actual != wanted:
        yield f"the environment is {_said(value)}, not {wanted}"


def _text_claims(identity: VerifiedIdentity) -> Any:
    def claim(name: str) -> str:
        value = identity.claims.get(name)
        if not isinstance(value, str) or not value:
            raise IdentityRefused("missing-claim", f"the identity token has no claim {name!r}")
        return value

    return claim


def _number(identity: VerifiedIdentity, name: str) -> str:
    value = identity.claims.get(name)
    text = str(value) if isinstance(value, str | int) else ""
    if not _ID.fullmatch(text):
        raise IdentityRefused("missing-claim", f"the identity token has no numeric claim {name!r}")
    return text


def _advice(provider: Provider, name: str) -> str:
    advice = {
        "repository": "write OWNER/NAME",
        "project": "write GROUP/NAME, with all subgroups",
        "subject": "write the exact claim sub",
        "environment": "write the name of the environment in one line",
        "workflow": "write the file's name in .github/workflows, for example ci.yml"
        if provider == "github"
        else "write the path of the configuration in the repository, for example .gitlab-ci.yml",
    }
    return advice.get(name, "write the number that the provider's API shows")


def _invalid(message: str) -> IdentityRefused:
    return IdentityRefused("publisher-invalid", message)


def _said(value: object) -> str:
    return "absent" if value is None else quote(str(value)[:120], safe=" /.@:_-")
