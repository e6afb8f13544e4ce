"""The policy of a hub's operator.

It stands in one file, ``policy.json`` at the hub's top, which is written by hand and reviewed like code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError

from gem.discovery.pydantic_start import start_pydantic
from gem_hub.records import PackageName, Person, Strict, reasons
from gem_hub.storage import HubFiles, files_of
from gem_hub_client.errors import HubError

__all__ = ["DECIDABLE", "FILE_NAME", "HubPolicy"]

start_pydantic()

FILE_NAME = "policy.json"

DECIDABLE = {
    "name.similar": "it is no imitation of the package that it resembles",
    "name.reserved-prefix": "it may have an official-looking name",
    "name.public": "it may have the name of a project on the public index",
    "content.import-name": "it may be imported as something else than it is called",
    "content.secret": "what looks like a key is none",
    "content.binary": "its compiled code has been looked at",
    "licence.missing": "its licence is known from elsewhere",
    "conformance.violated": "its violations are known",
}
"""Codes of refusals that the operator may overrule for one package, and the meaning of that decision.

Others are final.
"""

Why = Annotated[str, Field(min_length=1, max_length=500)]


def _decidable(code: str) -> str:
    if code not in DECIDABLE:
        raise ValueError(f"{code!r} cannot be accepted; only {', '.join(DECIDABLE)} can")
    return code


Decidable = Annotated[str, AfterValidator(_decidable)]


class HubPolicy(Strict):
    """Exceptions that the operator granted. The default has none."""

    format: Literal[1] = 1
    accepted: dict[PackageName, dict[Decidable, Why]] = Field(default_factory=dict)
    """Package → code of an accepted refusal → reason."""
    tolerated_clauses: dict[str, Why] = Field(default_factory=dict)
    """Clause of the conformance kit that may be violated in this hub → reason."""
    prefix_owners: list[Person] = Field(default_factory=list)
    """Accounts that may publish new official-looking names, in addition to the owners of the official packages."""

    guarded: bool = False
    """Whether new names are also refused of which it is unknown whether the public index has them; those of well-known
    projects and imports always are."""
    operators: list[Person] = Field(default_factory=list)
    """Accounts that operate the hub, and may change any package. Default: the account that owns the hub's folder."""

    namespaces: dict[str, list[Person]] = Field(default_factory=dict)
    """Namespace of ids → the accounts that it was granted to; no other account may publish ids in it."""

    @classmethod
    def of(cls, hub: Path | HubFiles) -> HubPolicy:
        """Return the policy of a hub.

        Raises:
            HubError: if the file is unreadable or invalid.
        """
        files = files_of(hub)
        path = f"{files.address}/{FILE_NAME}"
        try:
            content = files.read(FILE_NAME)
            return cls() if content is None else cls.model_validate_json(content)
        except OSError as error:
            raise HubError(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValidationError as error:
            raise HubError(f"{path}: {reasons(error)}; correct the file") from error

    def accepts(self, name: str, code: str) -> bool:
        """Return whether a refusal with this code does not count for a package."""
        return code in self.accepted.get(name, {})
