"""Rewards by name: objects that score episodes, recorded ones or those of a running environment.

::

    from gem_questions.rewards import make_reward, score_episode

    reward = make_reward("exact", answer="42")
    score_episode(reward, trajectory).value             # 1.0 or 0.0
    gem.make(env_id, wrappers=gem.wrapper("transform_reward", reward="math"))

An environment takes a reward in place of, or beside, its own (the wrapper ``transform_reward``); an
evaluation takes one by name; and ``gem rescore`` applies one to recorded episodes. Packages offer theirs through the
hook ``gem_rewards``. A :class:`Grader` compares one answer with one gold answer; packages offer theirs through the hook
``gem_graders``.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
