"""The tools as programs for the original GEM use them."""

from __future__ import annotations

import pytest
from gem.tools.mcp_tool import MCPTool  # type: ignore[import-not-found]
from gem.tools.python_code_tool import PythonCodeTool  # type: ignore[import-not-found]
from gem.tools.search_tool import SearchTool  # type: ignore[import-not-found]
from gem.tools.tool_env_wrapper import ToolEnvWrapper  # type: ignore[import-not-found]
from gem.utils.sandbox import run_python  # type: ignore[import-not-found]

from gem_tools import PythonTool


def test_the_python_tool_takes_the_original_arguments() -> None:
    """Sandbox types of the original choose among ours, and time-outs are kept."""
    tool = PythonCodeTool(timeout=2, sandbox_type="none", keep_error_last_line=True)
    assert isinstance(tool, PythonTool)
    told = "Code execution result: 1\n\nZeroDivisionError: division by zero\n"
    program = "x <python>print(1)\n1/0</python>"
    assert tool.execute_action(f"{program} y") == (True, True, told, program)
    assert tool.execute_action("no call") == (False, True, "", "no call")


def test_the_search_tool_is_asked_in_the_same_way() -> None:
    """execute_action finds a query, searches, and says what was acted on."""
    tool = SearchTool(corpus=[{"id": "1", "contents": '"Lima"\nLima is the capital of Peru.'}])
    is_call, has_error, observation, parsed = tool.execute_action("I look <search>capital of Peru</search> for it")
    assert (is_call, has_error, parsed) == (True, False, "I look <search>capital of Peru</search>")
    assert "Lima is the capital of Peru." in observation


def test_run_python_returns_what_the_original_did() -> None:
    """Success, what was printed, and what went wrong."""
    assert run_python("print(6 * 7)", "none") == (True, "42\n", "")
    ok, printed, error = run_python("print(1)\n1/0", "none")
    assert (ok, printed) == (False, "1\n")
    assert error.endswith("ZeroDivisionError: division by zero")
    assert run_python("while True: pass", "none", timeout=1)[2].endswith("Execution timed out after 1 seconds.")


def test_the_old_classes_wrap_environments() -> None:
    """ToolEnvWrapper of the old path takes tools of the old paths."""
    import gem

    assert ToolEnvWrapper is gem.tools.ToolEnvWrapper
    assert callable(MCPTool.from_url)
    with pytest.raises(gem.GemError, match="sandbox"):
        PythonCodeTool(sandbox_type="chroot")
