"""A harness that shows a model the texts of an environment of pictures, and no picture.

    cd hub && gem eval visual:Tables-v0-easy --agent blind_harness:BlindPolicy --base-url …

Its score is the one that a model earns without seeing, as blind baselines of visual questions have it: what wording and
guesses give away. An answer without a box is put into one, as :mod:`boxing_harness` does.
"""

from __future__ import annotations

from typing import Any

from boxing_harness import BoxingPolicy

from gem.core import Info
from gem.policies import Act
from gem_eval.clients.content_parts import text_in

__all__ = ["BlindPolicy"]


class BlindPolicy(BoxingPolicy):
    """Asks the model about the text of each observation alone."""

    async def act(self, observation: Any, info: Info) -> Act:
        return await super().act(text_in(observation), info)
