"""What keeps the requests of one episode together, so that a server finds the prompt's beginning in its cache.

Several replicas of a server, or the machines of a provider, each have a prefix cache of their own. A turn that goes to
another one than the turn before pays for its whole conversation again.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

__all__ = ["SESSION_FIELD", "episode_session", "session_headers", "session_name"]

SESSION_FIELD = "prompt_cache_key"
"""The field of chat completions by which OpenAI and servers like it route, of at most 64 characters
(developers.openai.com/api/docs/guides/prompt-caching)."""

_HEADERS = (
    # vLLM Router, policy consistent_hash, where it is the first of all keys (docs/load_balancing of
    # vllm-project/router); OpenRouter (openrouter.ai/docs, "session_id", at most 128 characters); also what many load
    # balancers are told to hash.
    "X-Session-Id",
    # SGLang Model Gateway, policies manual and consistent_hashing (sgl-model-gateway, src/policies/manual.rs).
    "X-SMG-Routing-Key",
)
"""Headers by which routers choose a replica. llm-d needs none: its scheduler scores replicas by their prefixes, and its
session token is one that only its answers give."""


def session_name(*parts: object) -> str:
    """Return 32 hexadecimal digits that are the same for the same parts, in every process, and reveal none of them."""
    return blake2b(json.dumps([str(part) for part in parts]).encode(), digest_size=16).hexdigest()


def episode_session(run: str | None, env: Any, seed: int, repetition: int) -> str:
    """Return the name of an episode's session.

    Args:
        run: what tells runs apart that use one server, such as the session of their base sampling.
        env: the environment that is played, or None; two forms of one id differ.
        seed: of the episode.
        repetition: of the seed.
    """
    spec = getattr(env, "spec", None)
    form = "" if spec is None else json.dumps(spec.to_dict(), sort_keys=True, default=str)
    return session_name(run or "", form, seed, repetition)


def session_headers(session: str) -> dict[str, str]:
    """Return the headers of a request that belongs to a session."""
    return dict.fromkeys(_HEADERS, session)
