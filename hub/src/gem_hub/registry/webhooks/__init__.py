"""Webhooks: signed messages to an owner's or operator's own server about publications, yanks and quarantines."""
