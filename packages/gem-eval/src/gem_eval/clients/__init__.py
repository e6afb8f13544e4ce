"""Clients of language models: HTTP endpoints, local models and scripts, and the policy that plays with one.

::

    client = open_client("http://localhost:8000")
    policy = ModelPolicy(client, Sampling(temperature=0.7, max_tokens=512))
"""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
