"""Worlds made from descriptions: packages of verified tasks from tools, OpenAPI documents and MCP servers.

``gem new --from`` finds :mod:`gem_envs_desk.synthesis.sources` through the hook ``gem_scaffold_sources``. A package
that it writes holds data (the world, its tasks) and a subclass of
:class:`gem_envs_desk.synthesis.service_env.ServiceEnv` or of :class:`gem_envs_desk.synthesis.server_env.ServerEnv`.
"""
