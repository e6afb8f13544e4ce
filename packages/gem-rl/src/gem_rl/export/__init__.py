"""Recorded episodes as data sets for other trainers.

``conversation.py``: an episode as chat messages. ``text_rows.py``: rows of messages for supervised fine-tuning,
preference learning and world models. ``token_data.py``: rows of token ids with masks, from sampled ids or for any
tokenizer. ``datasets.py``: rows as a ``datasets.Dataset``, which writes Parquet.
"""
