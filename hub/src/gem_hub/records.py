"""Release records: the permanent facts about one wheel, written once and never changed.

A record holds all data of a release's pages. The hub reads it from the wheel itself, so that pages can
be derived from records alone, years later and without the wheel. See :mod:`gem_hub.events` for changes to a
release afterwards.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timezone
from functools import cached_property
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gem.discovery.pydantic_start import start_pydantic
from gem.env_spec import EnvSpec
from gem.ids import parse_id
from gem_hub.errors import HubRefusal

__all__ = [
    "CoreMetadata",
    "Digest",
    "Environment",
    "PackageName",
    "Release",
    "Strict",
    "Timestamp",
    "VersionText",
    "environments_of",
    "file_path",
    "host_url",
    "now",
    "visible_text",
]

start_pydantic()

NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]+)*")
"""A name normalised by PEP 503; only names become paths."""

_WHEEL = re.compile(r"[A-Za-z0-9_.!]+(?:-[A-Za-z0-9_.!]+)+\.whl")
_SCHEMES = ("https", "http", "file")
_HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Categories of characters that are invisible, or turn the direction of text around."""
_BLANKS = "\u115f\u1160\u3164\uffa0\u2800"
"""Letters and symbols that are shown as nothing."""


def _name(value: str) -> str:
    if len(value) > 64 or NAME.fullmatch(value) is None:
        raise ValueError(
            f"{value[:80]!r} is no package name; write at most 64 lowercase letters, digits and single hyphens"
        )
    return value


def _version(value: str) -> str:
    try:
        version = Version(value)
    except InvalidVersion:
        raise ValueError(f"{value[:80]!r} is no version (PEP 440)") from None
    if version.local is not None:
        raise ValueError(f"{value[:80]!r} is a local version; a hub takes public ones, such as {version.public!r}")
    if str(version) != value:
        raise ValueError(f"{value[:80]!r} must be written {str(version)!r}")
    return value


def _timestamp(value: str) -> str:
    try:
        moment = datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")  # the Z stands for UTC
    except ValueError:
        raise ValueError(f"{value[:40]!r} is no time; write it as 2026-01-31T23:59:59Z, in UTC") from None
    if moment.strftime("%Y-%m-%dT%H:%M:%SZ") != value:
        raise ValueError(f"{value[:40]!r} is no time; write it as 2026-01-31T23:59:59Z, in UTC")
    return value


def visible_text(value: str) -> str:
    """Return a text that people read as programs do; raises ValueError for any other."""
    hidden = [one for one in value if unicodedata.category(one) in _HIDDEN or one in _BLANKS]
    if hidden or value != unicodedata.normalize("NFC", value):
        found = f"U+{ord(hidden[0]):04X}" if hidden else "letters and accents apart"
        raise ValueError(f"{value[:80]!a} must have visible characters alone, composed (NFC); it has {found}")
    return value


PackageName = Annotated[str, AfterValidator(_name)]
VersionText = Annotated[str, AfterValidator(_version)]
Timestamp = Annotated[str, AfterValidator(_timestamp)]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
"""SHA-256 in hex; empty without a file (mode ``source``)."""

Person = Annotated[
    str,
    Field(pattern=r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$", max_length=100),
    AfterValidator(visible_text),
]
"""A publisher or owner: an account name or an address, on one line."""


def now() -> str:
    """Return the time in UTC in the records' format, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Strict(BaseModel):
    """A model that rejects unknown keys and converts nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def to_bytes(self) -> bytes:
        """Return the record's file content: JSON with sorted keys, indented for reviewers."""
        return (json.dumps(self.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


class CoreMetadata(Strict):
    """The part of a wheel's ``METADATA`` that the pages need."""

    metadata_version: str = Field(pattern=r"^\d+\.\d+$")
    name: str
    version: VersionText
    summary: str = Field(default="", max_length=2000)
    description: str = Field(default="", max_length=1_000_000)
    description_content_type: str = Field(default="", max_length=200)
    keywords: list[str] = []
    licence: str = Field(default="", max_length=2000)
    """The SPDX expression; for older metadata the text of ``License``, if it is one line."""
    author: str = Field(default="", max_length=2000)
    requires_python: str = Field(default="", max_length=200)
    requires_dist: list[str] = []
    provides_extra: list[str] = []
    project_urls: dict[str, str] = {}
    classifiers: list[str] = []

    @model_validator(mode="after")
    def _specifiers_are_valid(self) -> CoreMetadata:
        try:
            SpecifierSet(self.requires_python)
        except InvalidSpecifier:
            raise ValueError(f"Requires-Python {self.requires_python!r} is no version specifier") from None
        for line in self.requires_dist:
            try:
                Requirement(line)
            except InvalidRequirement:
                raise ValueError(f"Requires-Dist {line!r} is no requirement") from None
        return self

    @property
    def requires_gem_core(self) -> str:
        """The specifier of gem-core; empty if the package has no unconditional requirement, or accepts any version."""
        for requirement in map(Requirement, self.requires_dist):
            if canonicalize_name(requirement.name) == "gem-core" and "extra" not in str(requirement.marker or ""):
                return str(requirement.specifier)
        return ""

    @classmethod
    def from_bytes(cls, metadata: bytes) -> CoreMetadata:
        """Return the fields of a ``METADATA`` file.

        Raises:
            HubRefusal: if the name or version is missing, or a field is invalid.
        """
        raw, _ = parse_email(metadata)
        licence = raw.get("license_expression") or raw.get("license") or ""
        authors = (raw.get("author") or "", raw.get("author_email") or "")
        try:
            return cls(
                metadata_version=raw.get("metadata_version") or "",
                name=raw.get("name") or "",
                version=raw.get("version") or "",
                summary=raw.get("summary") or "",
                description=raw.get("description") or "",
                description_content_type=raw.get("description_content_type") or "",
                keywords=raw.get("keywords") or [],
                licence=licence if "\n" not in licence else "",
                author=next(filter(None, authors), ""),
                requires_python=raw.get("requires_python") or "",
                requires_dist=raw.get("requires_dist") or [],
                provides_extra=raw.get("provides_extra") or [],
                project_urls=raw.get("project_urls") or {},
                classifiers=raw.get("classifiers") or [],
            )
        except ValueError as error:
            raise HubRefusal(f"METADATA: {reasons(error)}") from error


class Environment(Strict):
    """One environment or variant: every key of the manifest, expanded by id."""

    id: str
    entry_point: str
    kwargs: dict[str, JsonValue] = {}
    description: str
    tags: list[str] = []
    turns: Literal["single", "multi"] = "multi"
    modality: list[str] = ["text"]
    reward_range: list[float] | None = Field(default=None, min_length=2, max_length=2)
    requires: list[str] = []
    reference_policy: str | None = None
    reference_sees: Literal["observation", "state"] = "observation"
    reference_return: float | None = None
    null_return: float | None = None
    thoughtless_share: float | None = None
    step_seconds: float | None = None
    reset_seconds: float | None = None
    exempt: dict[str, str] = {}

    @model_validator(mode="after")
    def _id_follows_the_grammar(self) -> Environment:
        if parse_id(self.id).owner is not None:
            raise ValueError(f"{self.id!r} must have no owner")
        return self

    @property
    def base_id(self) -> str:
        """The id without the variant."""
        return parse_id(self.id)._replace(variant=None).unowned


def environments_of(specs: Iterable[EnvSpec]) -> list[Environment]:
    """Return the environments of a release record from the specs of a manifest, in the manifest's order."""
    keys = Environment.model_fields.keys()
    return [
        Environment.model_validate({key: value for key, value in spec.to_dict().items() if key in keys})
        for spec in specs
    ]


class Release(Strict):
    """A wheel of one version of a package.

    Three modes. ``host``: the wheel lies in the hub's own ``files/``. ``link``: it lies on another index, and the hub
    pins its address and digest. ``source``: no wheel has been released yet; the package can be installed from
    ``source``, a folder of the repository that the index belongs to. Such a record is made when a snapshot is derived
    and never stored.
    """

    format: Literal[1] = 1
    serial: int = Field(default=0, ge=0)
    """The position among all changes of the hub; 0 until the store assigns it."""
    name: PackageName
    version: VersionText
    filename: str = Field(default="", max_length=250)
    url: str = Field(default="", max_length=2000)
    """Absolute in mode ``link``; relative to a page in ``simple/NAME/`` in mode ``host``; empty in mode ``source``."""
    sha256: Digest = ""
    size: int = Field(default=0, ge=0)
    """The size of the wheel in bytes."""
    metadata_sha256: Digest = ""
    published: Timestamp
    publisher: Person
    mode: Literal["host", "link", "source"]
    source: str = Field(default="", max_length=200)
    metadata: CoreMetadata
    environments: list[Environment] = Field(max_length=10_000)
    hub_requires: list[PackageName] = []
    """The required packages that come from the same hub; all others come from the installer's own index."""
    changelog: str = Field(default="", max_length=50_000)
    """The beginning of the wheel's changelog; empty without one, and in old records."""
    changelog_file: str = Field(default="", max_length=50)
    """Its name in the wheel, which tells its form."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what older records do not have, so that these keep their bytes."""
        values: dict[str, Any] = handler(self)
        return {key: value for key, value in values.items() if value or not key.startswith("changelog")}

    @model_validator(mode="after")
    def _is_consistent(self) -> Release:
        if canonicalize_name(self.metadata.name) != self.name or self.metadata.version != self.version:
            raise ValueError(
                f"the metadata is of {self.metadata.name} {self.metadata.version}, not of {self.name} {self.version}"
            )
        ids = [environment.id for environment in self.environments]
        if len(set(ids)) != len(ids):
            raise ValueError(f"an environment is listed twice: {sorted(i for i in set(ids) if ids.count(i) > 1)}")
        if self.mode == "source":
            self._check_source()
        else:
            self._check_file()
        return self

    def _check_source(self) -> None:
        if self.filename or self.url or self.sha256 or self.size or self.metadata_sha256:
            raise ValueError(
                "a release in mode 'source' has no file yet: filename, url, digests and size must be empty"
            )
        path = PurePosixPath(self.source)
        if not self.source or str(path) != self.source or path.is_absolute() or ".." in path.parts:
            raise ValueError(
                f"source must be a folder of the repository, such as 'packages/my-envs', not {self.source!r}"
            )

    def _check_file(self) -> None:
        if self.source:
            raise ValueError(f"source belongs to mode 'source', not to mode {self.mode!r}")
        if not self.sha256 or not self.metadata_sha256 or not self.size:
            raise ValueError("a file needs its sha256, its size and the sha256 of its metadata")
        try:
            name, version, _, _ = parse_wheel_filename(self.filename)
        except InvalidWheelFilename as error:
            raise ValueError(str(error)) from None
        if _WHEEL.fullmatch(self.filename) is None or name != self.name or version != Version(self.version):
            raise ValueError(f"{self.filename!r} is no wheel of {self.name} {self.version}")
        if self.mode == "host":
            if self.url != host_url(self.sha256, self.filename):
                raise ValueError(
                    f"the url of a hosted file is {host_url(self.sha256, self.filename)!r}, not {self.url!r}"
                )
            return
        parts = urlsplit(self.url)
        printable = self.url.isascii() and self.url.isprintable() and not set(self.url) & set(" \"'<>\\^`{|}")
        if parts.scheme not in _SCHEMES or not printable or parts.query or parts.fragment:
            raise ValueError(f"{self.url[:200]!r} must be an https address without query and fragment")
        if parts.username is not None or unquote(parts.path.rpartition("/")[2]) != self.filename:
            raise ValueError(f"{self.url[:200]!r} must end in {self.filename!r} and hold no user name")

    @cached_property
    def parsed_version(self) -> Version:
        """The version as a comparable object."""
        return Version(self.version)

    @property
    def path(self) -> str:
        """The path of the record's file, relative to the hub."""
        return f"releases/{self.name}/{self.version}.json"

    @property
    def created(self) -> str:
        """The time of the change; events use the same name."""
        return self.published


def file_path(sha256: str, filename: str) -> str:
    """Return the path of a hosted file, relative to the hub."""
    return f"files/{sha256[:2]}/{sha256}/{filename}"


def host_url(sha256: str, filename: str) -> str:
    """Return the address of a hosted file, relative to a page in ``simple/NAME/``."""
    return f"../../{file_path(sha256, filename)}"


def reasons(error: ValueError) -> str:
    """Return the reasons in a model's error, one sentence each."""
    items: list[dict[str, Any]] = getattr(error, "errors", list)()
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) + ': ' if item['loc'] else ''}{item['msg'].removeprefix('Value error, ')}"
        for item in items
    ) or str(error)
