"""Tools of this run in place of a hosted API's, as a command line names them: :func:`declared_tools`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gem.arguments import choice
from gem.errors import ArgumentError, NotSupportedError
from gem.tools.base import Tool

__all__ = ["declared_tools"]

_ARGUMENTS = {"web_search": "query", "code_interpreter": "code"}
"""Kind → the argument that its tool takes."""

_WEB_ENGINES = ("brave", "google", "serpapi", "tavily")


def _named_specs(specs: Sequence[str]) -> dict[str, str]:
    """Return ``KIND=TOOL`` by kind.

    Raises:
        ArgumentError: for other text, and a kind that comes twice.
    """
    named: dict[str, str] = {}
    for spec in specs:
        kind, equals, tool = spec.partition("=")
        if not equals or not tool:
            raise ArgumentError(f"a server tool is KIND=TOOL, such as web_search=search:wiki.jsonl, got {spec[:80]!r}")
        if kind in named:
            raise ArgumentError(f"the server tool {kind[:80]!r} is declared twice; leave one out")
        named[kind] = tool
    return named


def declared_tools(tools: Mapping[str, str | Tool] | Sequence[str]) -> dict[str, Tool]:
    """Return the tools that a gateway carries out, for :attr:`CallSettings.run_tools`.

    Args:
        tools: texts such as ``"web_search=search:wiki.jsonl"``, or a table: ``"web_search"`` or ``"code_interpreter"``
            → a tool with the argument ``query`` or ``code``, or its name: ``"search:WHERE"`` with a corpus of JSON
            lines, the address of a retrieval server or a web search (``brave``, ``google``, ``serpapi``, ``tavily``);
            ``"python"`` for the sandboxed interpreter, whose variables stay for a session of the gateway.

    Raises:
        ArgumentError: for other kinds and names, and tools with other arguments.
        NotSupportedError: without the package gem-tools.
        CorpusError: for a corpus that cannot be read.
    """
    return {
        choice("server tool", kind, tuple(_ARGUMENTS)): _checked(
            kind, _made(kind, tool) if isinstance(tool, str) else tool
        )
        for kind, tool in (tools if isinstance(tools, Mapping) else _named_specs(tools)).items()
    }


def _made(kind: str, name: str) -> Tool:
    try:
        from gem_tools.python_tool import PythonTool
        from gem_tools.search.tool import SearchTool
    except ImportError as error:
        raise NotSupportedError(f"{kind}={name[:80]} needs gem-tools: pip install 'gem-gateway[mcp]'") from error
    what, _, where = name.partition(":")
    if kind == "code_interpreter" and name == "python":
        return PythonTool(session=True)
    if kind == "web_search" and what == "search" and where:
        if where.startswith(("http://", "https://")):
            return SearchTool(search_url=where)
        if where in _WEB_ENGINES:
            return SearchTool(engine=where)
        return SearchTool(corpus=Path(where))
    raise ArgumentError(
        f"{kind} cannot be {name[:80]!r}; web_search=search:CORPUS (a file of JSON lines, an address, or "
        f"{', '.join(_WEB_ENGINES)}) and code_interpreter=python are known"
    )


def _checked(kind: str, tool: Tool) -> Tool:
    argument = _ARGUMENTS[kind]
    parameters = tool.parameters or {}
    if list(parameters.get("required", ())) != [argument]:
        raise ArgumentError(f"the tool for {kind} must require the one argument {argument}, and {tool!r:.80} does not")
    return tool
