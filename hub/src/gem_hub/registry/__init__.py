"""The registry: a hub that strangers publish to over HTTP, with accounts, tokens, quotas and an audit log."""
