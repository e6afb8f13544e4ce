"""What an agent program is given, as variables of its environment and as an object: :class:`AgentTask`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["AgentTask"]


@dataclass(frozen=True)
class AgentTask:
    """The task, the model and the tools of one episode."""

    task: str
    """What is to be done: the first observation, and how to play."""
    task_file: Path
    """The same in a file."""
    model: str
    base_url: str
    """Of the gateway in the dialect of OpenAI, ending in ``/v1``."""
    anthropic_base_url: str
    """Of the gateway in the dialect of Anthropic."""
    gemini_base_url: str
    """Of the gateway in the dialect of Google's Gemini."""
    api_key: str
    """Opens the gateway for this episode alone."""
    mcp_url: str
    """Of the MCP server that plays this episode, over streamable HTTP."""
    mcp_key: str
    """Opens that server, as ``Authorization: Bearer KEY``."""
    answer_file: Path
    """Where a program writes its final answer, if its harness says so."""

    def variables(self) -> dict[str, str]:
        """Return it as variables; the task itself is in ``GEM_TASK_FILE``."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_BASE": self.base_url,
            "OPENAI_API_KEY": self.api_key,
            "OPENAI_MODEL": self.model,
            "ANTHROPIC_BASE_URL": self.anthropic_base_url,
            "ANTHROPIC_API_KEY": self.api_key,
            "ANTHROPIC_MODEL": self.model,
            "GOOGLE_GEMINI_BASE_URL": self.gemini_base_url,
            "GEMINI_API_KEY": self.api_key,
            "GEMINI_MODEL": self.model,
            "GEM_MODEL": self.model,
            "GEM_TASK_FILE": str(self.task_file),
            "GEM_ANSWER_FILE": str(self.answer_file),
            "GEM_MCP_URL": self.mcp_url,
            "GEM_MCP_KEY": self.mcp_key,
        }

    @classmethod
    def from_variables(cls, variables: Mapping[str, str] = os.environ) -> AgentTask:
        """Read it from the variables that :meth:`variables` returns.

        Raises:
            KeyError: if one of them is missing.
        """
        task_file = Path(variables["GEM_TASK_FILE"])
        return cls(
            task=task_file.read_text(encoding="utf-8"),
            task_file=task_file,
            model=variables["GEM_MODEL"],
            base_url=variables["OPENAI_BASE_URL"],
            anthropic_base_url=variables["ANTHROPIC_BASE_URL"],
            gemini_base_url=variables["GOOGLE_GEMINI_BASE_URL"],
            api_key=variables["OPENAI_API_KEY"],
            mcp_url=variables["GEM_MCP_URL"],
            mcp_key=variables["GEM_MCP_KEY"],
            answer_file=Path(variables["GEM_ANSWER_FILE"]),
        )
