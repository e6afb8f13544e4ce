"""The full schema of ``environments.toml``, as pydantic models.

Imported only for validation (``gem doctor``, ``gem check``, the hub), or after an irregularity on the fast
path; see :mod:`gem.discovery.manifest`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from gem.discovery.official import install_line
from gem.discovery.pydantic_start import start_pydantic
from gem.errors import InvalidIdError, ManifestError
from gem.ids import NAMESPACE_PATTERN, parse_id

__all__ = ["EnvironmentEntry", "Manifest", "ResolverEntry", "VariantMetadata", "validate"]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Tag = Annotated[str, Field(pattern=r"^(?:[a-z]+:)?[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""A tag; one with a colon, such as ``domain:code``, is of a controlled vocabulary, which gem-testing keeps."""
Argument = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
EntryPoint = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]
Kwargs = dict[Argument, JsonValue]
SCHEMA = 1

start_pydantic()


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # TOML has no tuples


def _lowest_first(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise ValueError(f"reward_range {list(value)} must be [lowest, highest]")
    return value


Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
ClauseName = Annotated[str, Field(pattern=r"^[a-z]+\.[a-z_]+$")]
Exemptions = dict[ClauseName, Annotated[str, Field(min_length=1, max_length=500)]]
RewardRange = Annotated[tuple[float, float], BeforeValidator(_pair), AfterValidator(_lowest_first)]


class VariantMetadata(_Strict):
    """The metadata of a variant that differs from its environment's."""

    description: str | None = Field(default=None, min_length=1, max_length=500)
    tags: list[Tag] | None = None
    reward_range: RewardRange | None = None
    requires: list[Name] | None = None
    reference_return: float | None = None
    null_return: float | None = None
    thoughtless_share: Share | None = None
    step_seconds: Seconds | None = None
    reset_seconds: Seconds | None = None
    exempt: Exemptions | None = None


class EnvironmentEntry(_Strict):
    """One ``[[environment]]`` table: an environment and its variants."""

    id: str
    entry_point: EntryPoint
    description: str = Field(min_length=1, max_length=500)
    kwargs: Kwargs = {}
    variants: dict[Name, Kwargs] = {}
    variant_metadata: dict[Name, VariantMetadata] = {}
    tags: list[Tag] = []
    turns: Literal["single", "multi"] = "multi"
    modality: list[Literal["text", "image", "audio", "video"]] = ["text"]
    reward_range: RewardRange | None = None
    requires: list[Name] = []
    reference_policy: EntryPoint | None = None
    reference_sees: Literal["observation", "state"] = "observation"
    reference_return: float | None = None
    null_return: float | None = None
    thoughtless_share: Share | None = None
    step_seconds: Seconds | None = None
    reset_seconds: Seconds | None = None
    exempt: Exemptions = {}

    @field_validator("id")
    @classmethod
    def _id_follows_the_grammar(cls, value: str) -> str:
        try:
            parsed = parse_id(value)
        except InvalidIdError as error:
            raise ValueError(str(error)) from error
        if parsed.owner is not None or parsed.variant is not None:
            raise ValueError(f"{value!r} must have neither owner nor variant; variants have a table of their own")
        return value

    @model_validator(mode="after")
    def _variants_are_consistent(self) -> EnvironmentEntry:
        if self.variants and parse_id(self.id).version is None:
            raise ValueError(f"{self.id!r} has variants, so its id needs a version: '{self.id}-v0'")
        for name in self.variant_metadata:
            if name not in self.variants:
                raise ValueError(f"variant_metadata names {name!r}, which is not one of its variants")
        return self


class ResolverEntry(_Strict):
    """One ``[[resolver]]`` table: a prefix of ids, and the function that turns such an id into a spec."""

    prefix: Annotated[str, Field(pattern=f"^{NAMESPACE_PATTERN}:$")]
    entry_point: EntryPoint
    description: str = Field(min_length=1, max_length=500)


class Manifest(_Strict):
    """A whole ``environments.toml``: environments, resolvers, or both."""

    schema_: Literal[1] = Field(alias="schema")
    environment: list[EnvironmentEntry] = []
    resolver: list[ResolverEntry] = []
    hub_requires: list[Name] = []
    """Packages of environments that this one needs and that come from the same hub; they are among its requirements."""

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Manifest:
        if not self.environment and not self.resolver:
            raise ValueError("it offers nothing; add an [[environment]] or a [[resolver]] table")
        prefixes = [entry.prefix for entry in self.resolver]
        for prefix in prefixes:
            if prefixes.count(prefix) > 1:
                raise ValueError(f"prefix {prefix!r} is declared twice")
        seen: set[str] = set()
        for entry in self.environment:
            for full_id in (entry.id, *(f"{entry.id}-{variant}" for variant in entry.variants)):
                if full_id in seen:
                    raise ValueError(f"id {full_id!r} is declared twice")
                seen.add(full_id)
        return self


def validate(document: dict[str, Any], path: Path) -> Manifest:
    """Return the manifest as models.

    Raises:
        ManifestError: with one sentence for each violation, which names the key and the value.
    """
    schema = document.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise ManifestError(
            f"{path}: uses schema {schema}, and this gem-core reads schema {SCHEMA}; "
            f"run: {install_line('--upgrade', 'gem-core')}"
        )
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        problems = "; ".join(_sentence(item["loc"], item["msg"], item["input"]) for item in error.errors())
        raise ManifestError(f"{path}: {problems}") from error


def _sentence(location: tuple[int | str, ...], message: str, value: object) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    shown = "" if isinstance(value, (dict, list)) else f" (got {repr(value)[:60]})"
    return f"{where or 'the file'}: {message.removeprefix('Value error, ')}{shown}"
