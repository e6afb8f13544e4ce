"""The names that each package of this project brings, so that an error can name a missing package."""

from __future__ import annotations

__all__ = ["COMMANDS", "MODES", "NAMESPACES", "PREFIXES", "REWARDS", "WRAPPERS", "install_line", "install_lines"]

NAMESPACES = {
    "game": ("gem-envs-games",),
    "duel": ("gem-envs-games",),
    "math": ("gem-envs-math",),
    "qa": ("gem-envs-qa",),
    "logic": ("gem-envs-qa",),
    "research": ("gem-envs-qa",),
    "rg": ("gem-envs-reasoning",),
    "code": ("gem-envs-code",),
    "craft": ("gem-envs-craft",),
    "db": ("gem-envs-data",),
    "kg": ("gem-envs-data",),
    "desk": ("gem-envs-desk",),
    "mcp": ("gem-envs-desk",),
    "eval": ("gem-envs-math", "gem-envs-qa", "gem-envs-code"),
    "bandit": ("gem-envs-grid",),
    "grid": ("gem-envs-grid",),
    "house": ("gem-envs-house",),
    "lab": ("gem-envs-lab",),
    "office": ("gem-envs-office",),
    "swe": ("gem-envs-swe",),
    "terminal": ("gem-terminal",),
    "visual": ("gem-envs-visual",),
    "web": ("gem-envs-web",),
    "http": ("gem-server",),
    "https": ("gem-server",),
    "openenv": ("gem-bridges",),
    "agentgym": ("gem-bridges",),
    "gym": ("gem-bridges",),
    "textarena": ("gem-bridges",),
    "textworld": ("gem-bridges",),
    "jericho": ("gem-bridges",),
    "verifiers": ("gem-bridges",),
}
"""Namespace → the distributions that fill it."""

PREFIXES = ("http", "https", "openenv", "agentgym", "gym", "textarena", "textworld", "jericho", "verifiers")
"""The namespaces among them whose ids are addresses, which a resolver turns into specs."""

WRAPPERS = {
    **dict.fromkeys(
        ("concat_chat", "concat_chat_on_reset", "messages", "record", "sliding_window", "summarize", "token_budget"),
        "gem-rollout",
    ),
    "fold": "gem-rollout",
    "transform_reward": "gem-questions",
    "python_tool": "gem-tools",
    "python_tool_no_int_reward": "gem-tools",
    "python_tool_no_int_reward_last_line_error": "gem-tools",
    "search_tool": "gem-tools",
    "search_tool_no_int_reward": "gem-tools",
    "mcp_tool": "gem-tools",
    "tool_failure": "gem-tools",
}
"""Wrapper name → the distribution that brings it."""

MODES = {"auto": "gem-processes", "process": "gem-processes", "ray": "gem-ray", "server": "gem-server"}
"""Vectorization mode → the distribution that brings it."""

REWARDS = {
    "composite": "gem-questions",
    "math": "gem-envs-math",
    "qa_em": "gem-envs-qa",
    "qa_f1": "gem-envs-qa",
    "code": "gem-envs-code",
    "group_rubric": "gem-eval",
    **dict.fromkeys(
        ("checklist", "environment", "evolving_rubric", "exact", "numeric", "pairwise", "process", "rubric"), "gem-eval"
    ),
}
"""Reward name → the distribution that brings it."""

COMMANDS = {
    **dict.fromkeys(("check", "new", "skill"), "gem-testing"),
    **dict.fromkeys(("mcp-serve", "search-server", "skill serve"), "gem-tools"),
    "terminal": "gem-terminal",
    "terminal worker": "gem-terminal-remote",
    "swe": "gem-envs-swe",
    "train": "gem-rl",
    "serve": "gem-server",
    "data": "gem-questions",
    **dict.fromkeys(("gateway", "harness"), "gem-gateway"),
    **dict.fromkeys(("bench", "check-template", "replay", "rollout", "show", "trajectories"), "gem-rollout"),
    **dict.fromkeys(
        (
            *("eval", "compare", "ratings", "report", "results", "rescore", "run", "runs", "validate", "view"),
            "fake-model",
        ),
        "gem-eval",
    ),
}
"""Subcommand of ``gem`` → the distribution that brings it."""


def install_line(*distributions: str) -> str:
    """Return the command that installs these distributions."""
    return f"pip install {' '.join(distributions)}"


def install_lines(namespace: str) -> str:
    """Return the commands that install the distributions of a namespace, each in quotes."""
    return " or ".join(f"'{install_line(distribution)}'" for distribution in NAMESPACES[namespace])
