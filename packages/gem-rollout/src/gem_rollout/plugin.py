"""What this package adds to GEM: wrappers and commands."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands", "gem_wrappers"]


@hookimpl
def gem_wrappers() -> Named:
    """Return the wrappers by name."""
    return {
        "concat_chat": "gem_rollout.history.chat_history:ConcatChat",
        "concat_chat_on_reset": "gem_rollout.history.chat_history:ConcatChatOnReset",
        "fold": "gem_rollout.history.folding:FoldedHistory",
        "messages": "gem_rollout.history.chat_history:Messages",
        "record": "gem_rollout.trajectory.recording:RecordTrajectories",
        "sliding_window": "gem_rollout.history.context:SlidingWindow",
        "summarize": "gem_rollout.history.context:Summarize",
        "token_budget": "gem_rollout.history.context:TokenBudget",
    }


@hookimpl
def gem_commands() -> Named:
    """Return the commands."""
    return {
        "bench": "gem_rollout.cli.bench:bench_command",
        "check-template": "gem_rollout.cli.check_template:check_template_command",
        "replay": "gem_rollout.cli.replay:replay_command",
        "rollout": "gem_rollout.cli.rollout:rollout_command",
        "show": "gem_rollout.cli.show:show_command",
        "trajectories": "gem_rollout.cli.trajectories:trajectories_command",
    }
