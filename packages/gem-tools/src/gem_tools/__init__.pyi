from gem_tools.mcp.tool import MCPTool as MCPTool
from gem_tools.python_tool import PythonTool as PythonTool
from gem_tools.search.tool import SearchTool as SearchTool

__version__: str
