"""Trainers of others on GEM environments: what their extension points have in common.

``token_policy.py``: a model behind a function from token ids to token ids, as a policy, whose prompts
are those of :class:`gem_rollout.chat_templates.sampled_prompt.SampledPrompt`. ``lockstep.py``: one call of a model for
all episodes that wait. ``playing.py``: episodes through the rollout engine, in the order of a batch. ``row_form.py``:
an episode as the prompt, the response and the mask that most trainers take. ``text_episode.py``: an episode whose turns
the trainer plays itself. ``task_rows.py``: data sets of prompts.

One file for each trainer is in ``examples/trainers``. Rewards as functions of trainers: :mod:`gem_questions.rewards`.
"""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
