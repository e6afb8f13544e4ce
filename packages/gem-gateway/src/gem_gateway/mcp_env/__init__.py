"""An environment as an MCP server for one episode, which an agent program plays by calls of tools."""
