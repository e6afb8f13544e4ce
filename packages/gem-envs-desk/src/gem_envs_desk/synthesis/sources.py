"""The sources of ``gem new --from``: OpenAPI documents, lists of tools, MCP servers, descriptions in prose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_envs_desk.synthesis.errors import DescriptionError

if TYPE_CHECKING:
    from gem_envs_desk.domain import DeskDomain
    from gem_envs_desk.synthesis.making import MadeTasks
    from gem_envs_desk.synthesis.store_spec import StoreSpec

__all__ = ["from_file", "from_server", "from_text"]


def from_file(source: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a package made from a JSON or YAML file; see ``gem_scaffold_sources`` in ``docs/hooks.md``.

    Raises:
        DescriptionError: if nothing can be made of the file.
    """
    _check_libraries()
    from gem_envs_desk.synthesis.documents import read_document
    from gem_envs_desk.synthesis.openapi import is_openapi, spec_of_openapi
    from gem_envs_desk.synthesis.tool_list import is_tool_list, spec_of_tools

    path = Path(source)
    document = read_document(path)
    if is_openapi(document):
        spec = spec_of_openapi(document, path.name)
    elif is_tool_list(document):
        spec = spec_of_tools(document, path.name)
    else:
        raise DescriptionError(
            f"{path.name} is no description that worlds are made from; give an OpenAPI document, a list of tools, "
            "mcp:SERVER, or a text in Markdown"
        )
    return _of_service(spec, path.name, request)


def from_text(source: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a package whose tools a model designs after a text.

    Raises:
        DescriptionError: if no model is given, or it makes nothing usable of the text.
    """
    _check_libraries()
    from gem_envs_desk.synthesis.model_writing import chat_with, spec_of_text

    path = Path(source)
    if request["model"] is None and request["base_url"] is None:
        raise DescriptionError(
            f"{path.name} is a text, which takes a model to make tools of; add --base-url, and --model if the server "
            "has several"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"{path} cannot be read: {error}") from error
    spec = spec_of_text(text, path.name, chat_with(request["base_url"], request["model"]))
    return _of_service(spec, path.name, request)


def from_server(source: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a package made from an MCP server: a configuration file, or a command line.

    Raises:
        DescriptionError: if no world can be made of the server.
    """
    _check_libraries()
    from gem_envs_desk.synthesis.packaging import made_package
    from gem_envs_desk.synthesis.server_config import one_server
    from gem_envs_desk.synthesis.server_drafting import server_tasks
    from gem_envs_desk.synthesis.server_recording import recorded_server
    from gem_envs_desk.synthesis.server_world import ServerDomain

    name, config = one_server(source)
    recorded = recorded_server(name, config, request["seed"])
    made = server_tasks(recorded, request["tasks"], request["seed"], request["progress"])
    made = _phrased(made, ServerDomain(recorded.profile, remembers=True), request)
    return made_package(
        title=name,
        source=f"the MCP server `{name}`",
        namespace=request["namespace"],
        import_name=request["import_name"],
        base="ServerEnv",
        module="server_env",
        world_file="server.json",
        world=recorded.profile.to_json(),
        made=made,
        refused=recorded.profile.refused,
        step_seconds=10.0,
    )


def _of_service(spec: StoreSpec, name: str, request: Mapping[str, Any]) -> dict[str, Any]:
    from gem_envs_desk.synthesis.making import service_tasks
    from gem_envs_desk.synthesis.packaging import made_package
    from gem_envs_desk.synthesis.service_domain import ServiceDomain

    made = service_tasks(spec, request["tasks"], request["seed"], request["progress"])
    return made_package(
        title=spec.title,
        source=f"`{name}`",
        namespace=request["namespace"],
        import_name=request["import_name"],
        base="ServiceEnv",
        module="service_env",
        world_file="world.json",
        world=spec.to_json(),
        made=_phrased(made, ServiceDomain(spec), request),
        refused=spec.refused,
    )


def _phrased(made: MadeTasks, domain: DeskDomain, request: Mapping[str, Any]) -> MadeTasks:
    """Return the tasks in the words of the model, if one is given."""
    if request["model"] is None and request["base_url"] is None:
        return made
    from gem_envs_desk.synthesis.model_writing import chat_with, phrased

    return phrased(made, domain, chat_with(request["base_url"], request["model"]))


def _check_libraries() -> None:
    from importlib.util import find_spec

    needed = {
        "gem_tools": "gem-tools",
        "jsonschema": "jsonschema",
        "openapi_spec_validator": "openapi-spec-validator",
        "rstr": "rstr",
        "yaml": "PyYAML",
    }
    missing = [name for module, name in needed.items() if find_spec(module) is None]
    if missing:
        raise DescriptionError(f"{', '.join(missing)} is missing; run: pip install 'gem-envs-desk[synthesis]'")
