from gem.tools.base import Tool as Tool
from gem.tools.base import ToolResult as ToolResult
from gem.tools.calls import ToolCall as ToolCall
from gem.tools.episode import EpisodeValues as EpisodeValues
from gem.tools.episode import FromEpisode as FromEpisode
from gem.tools.function import FunctionTool as FunctionTool
from gem.tools.function import tool as tool
from gem.tools.wrapper import ToolEnvWrapper as ToolEnvWrapper
