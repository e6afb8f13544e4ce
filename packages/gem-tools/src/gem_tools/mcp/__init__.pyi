from gem_tools.mcp.errors import MCPServerError as MCPServerError
from gem_tools.mcp.sampled_model import ModelBudget as ModelBudget
from gem_tools.mcp.sampled_model import SamplingRequest as SamplingRequest
from gem_tools.mcp.server_tool import MCPServerTool as MCPServerTool
from gem_tools.mcp.tool import MCPTool as MCPTool
