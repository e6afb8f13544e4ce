"""mini-swe-agent on one task, run by the Python that has it installed."""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from minisweagent import package_dir
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel


def main() -> None:
    """Run the agent with its own ``mini.yaml``."""
    settings = yaml.safe_load((package_dir / "config" / "mini.yaml").read_text(encoding="utf-8"))
    model_settings = {key: value for key, value in settings.get("model", {}).items() if key != "model_kwargs"}
    model = LitellmModel(
        model_name=f"openai/{os.environ['GEM_MODEL']}",
        model_kwargs={"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]},
        cost_tracking="ignore_errors",
        **model_settings,
    )
    environment_settings = {**settings.get("environment", {}), "timeout": 3600}
    agent_settings = {
        key: value
        for key, value in settings.get("agent", {}).items()
        if key not in ("mode", "confirm_exit", "whitelist_actions", "cost_limit")
    }
    agent = DefaultAgent(model, LocalEnvironment(**environment_settings), cost_limit=0.0, **agent_settings)
    result = agent.run(Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8"))
    answer = result.get("submission", "") if isinstance(result, dict) else str(result)
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(answer, encoding="utf-8")


if __name__ == "__main__":
    main()
