"""A small trainer that learns on one CPU core; it needs torch and tokenizers: ``pip install 'gem-rl[train]'``.

``tiny_tokenizer.py``: a tokenizer trained on an environment's own text. ``transformer.py``: the model, with a cache of
keys and values. ``agents.py``: the model as a policy of the rollout engine, all episodes in one batch.
``episode_rows.py``: episodes as tensors. ``losses.py``: what is minimised. ``folder.py``: a run on disk. ``recipe.py``:
the settings. ``trainer.py``: the loop, made to be copied and changed.
"""
