"""Signed hubs: which keys a client trusts, and the check of what they have signed.

The metadata is that of The Update Framework (TUF 1.0, https://theupdateframework.github.io/specification/), over few
targets: the hub's ``root.json``, whose digests cover all that a client loads, and the checkpoint of its log.
"""
