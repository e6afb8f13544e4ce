"""OpenAPI documents (2.0, 3.0, 3.1) as specifications of a simulated service.

An operation is simulated if its path and schemas say what it does:

==================  ===========================================================================================
operation           because
==================  ===========================================================================================
read                ``GET /pets/{petId}`` answers with an object that has a property for the path's last parameter
list                ``GET /pets`` answers with an array of objects, bare or as a property; query parameters named
                    like properties are filters
create              ``POST /pets`` takes an object
update              ``PUT`` or ``PATCH /pets/{petId}`` takes an object, or ``PUT /pets`` one with the key
delete              ``DELETE /pets/{petId}``
==================  ===========================================================================================

Everything else is refused by name, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_envs_desk.synthesis.documents import references
from gem_envs_desk.synthesis.errors import DescriptionError, UnsupportedSchemaError
from gem_envs_desk.synthesis.openapi_calls import http_calls
from gem_envs_desk.synthesis.resources import Resources
from gem_envs_desk.synthesis.store_spec import StoreOperation, StoreSpec

__all__ = ["is_openapi", "spec_of_openapi"]


def is_openapi(document: Any) -> bool:
    """Return whether a document says that it is OpenAPI (or Swagger, its name up to version 2)."""
    return isinstance(document, Mapping) and ("openapi" in document or "swagger" in document)


def spec_of_openapi(document: Any, source: str) -> StoreSpec:
    """Return the service that a document describes.

    Args:
        document: JSON values.
        source: the name of the document, for messages.

    Raises:
        DescriptionError: if the document is invalid, or describes nothing that can be simulated.
    """
    _check(document, source)
    calls, refused = http_calls(document)
    resources = Resources(calls)
    operations: dict[str, StoreOperation] = {}
    for call in calls:
        try:
            operations[call.name] = resources.operation(call)
        except UnsupportedSchemaError as error:
            refused[call.name] = str(error)
    if not operations:
        raise DescriptionError(
            f"{source} describes no operation that can be simulated; "
            + "; ".join(f"{name}: {why}" for name, why in list(refused.items())[:5])
            if refused
            else f"{source} describes no operations"
        )
    used = {operation.type for operation in operations.values()}
    info = document.get("info")
    title = info.get("title") if isinstance(info, Mapping) else None
    types = resources.linked_types(used)
    return StoreSpec(title if isinstance(title, str) and title.strip() else "Service", types, operations, refused)


def _check(document: Any, source: str) -> None:
    """Raise for a document that is not OpenAPI, before anything relies on its form."""
    from openapi_spec_validator import validate

    for reference in references(document):
        if not reference.startswith("#"):
            raise DescriptionError(
                f"{source} refers to another document, {reference[:120]!r}; put everything into one, for example with "
                "a bundler of OpenAPI documents"
            )
    try:
        validate(document)
    except RecursionError as error:
        raise DescriptionError(f"{source} is nested too deeply") from error
    except Exception as error:  # the validator meets some invalid documents with errors of any type
        raise DescriptionError(f"{source} is not valid OpenAPI: {_explained(error)}") from error


def _explained(error: Exception) -> str:
    message = " ".join(str(getattr(error, "message", error)).split())[:300]
    path = ".".join(map(str, getattr(error, "absolute_path", ())))
    return f"{path}: {message}" if path else message
