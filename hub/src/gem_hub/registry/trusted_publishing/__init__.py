"""Trusted publishing: a workflow that proves its identity publishes without a stored secret (OpenID Connect)."""
