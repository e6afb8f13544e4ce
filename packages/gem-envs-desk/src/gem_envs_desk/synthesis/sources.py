"""The sources of ``gem new --from``: OpenAPI documents, lists of tools, MCP servers, descriptions in prose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_envs_desk.synthesis.errors import DescriptionError

__all__ = ["from_file", "from_server"]


def from_file(source: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a package made from a JSON or YAML file; see ``gem_scaffold_sources`` in ``docs/hooks.md``.

    Raises:
        DescriptionError: if nothing can be made of the file.
    """
    _check_libraries()
    from gem_envs_desk.synthesis.documents import read_document
    from gem_envs_desk.synthesis.making import service_tasks
    from gem_envs_desk.synthesis.openapi import is_openapi, spec_of_openapi
    from gem_envs_desk.synthesis.packaging import made_package
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
    made = service_tasks(spec, request["tasks"], request["seed"], request["progress"])
    return made_package(
        title=spec.title,
        source=f"`{path.name}`",
        namespace=request["namespace"],
        import_name=request["import_name"],
        base="ServiceEnv",
        module="service_env",
        world_file="world.json",
        world=spec.to_json(),
        made=made,
        refused=spec.refused,
    )


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

    name, config = one_server(source)
    recorded = recorded_server(name, config, request["seed"])
    made = server_tasks(recorded, request["tasks"], request["seed"], request["progress"])
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


def _check_libraries() -> None:
    from importlib.util import find_spec

    needed = {
        "jsonschema": "jsonschema",
        "openapi_spec_validator": "openapi-spec-validator",
        "rstr": "rstr",
        "yaml": "PyYAML",
    }
    missing = [name for module, name in needed.items() if find_spec(module) is None]
    if missing:
        raise DescriptionError(f"{', '.join(missing)} is missing; run: pip install 'gem-envs-desk[synthesis]'")
