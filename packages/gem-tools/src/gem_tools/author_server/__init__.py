"""GEM's commands for a coding agent, as tools of an MCP server over standard input and output: ``gem skill serve``.

====================  ================================================================================================
``command_tools.py``  the tools: schemas, checks of their arguments, and the command lines that they stand for
``command_run.py``    a command in a process group of its own, with limits on its time and output
``server.py``         the server
``command.py``        ``gem skill serve``
====================  ================================================================================================
"""
