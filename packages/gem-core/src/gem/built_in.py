"""The wrappers, rewards and vectorization modes of gem-core: name → entry point."""

from __future__ import annotations

__all__ = ["REWARDS", "VECTOR_BACKENDS", "WRAPPERS"]

WRAPPERS = {
    "concat": "gem.wrappers.text_history:Concat",
    "concat_with_action": "gem.wrappers.text_history:ConcatWithAction",
    "concat_chat": "gem.wrappers.chat_history:ConcatChat",
    "concat_chat_on_reset": "gem.wrappers.chat_history:ConcatChatOnReset",
    "messages": "gem.wrappers.chat_history:Messages",
    "sliding_window": "gem.wrappers.context:SlidingWindow",
    "summarize": "gem.wrappers.context:Summarize",
    "token_budget": "gem.wrappers.context:TokenBudget",
    "episode_tracking": "gem.wrappers.tracking:EpisodeTracking",
    "record": "gem.trajectory.recording:RecordTrajectories",
    "time_limit": "gem.wrappers.limits:TimeLimit",
    "wall_clock_limit": "gem.wrappers.limits:WallClockLimit",
    "attempts": "gem.wrappers.attempts:Attempts",
    "transform_reward": "gem.rewards.transform:TransformReward",
    "tool_failure": "gem.wrappers.noise:ToolFailure",
}

VECTOR_BACKENDS = {
    "sync": "gem.vector.sync:SyncVectorEnv",
    "thread": "gem.vector.thread:ThreadVectorEnv",
    "process": "gem.vector.process.vector_env:ProcessVectorEnv",
    "auto": "gem.vector.auto:auto_vector_env",
}

REWARDS = {"composite": "gem.rewards.composite:CompositeReward"}
