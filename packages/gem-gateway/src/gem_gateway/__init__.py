"""The door for agent programs that own their loop: a gateway for their model calls, and harnesses that run them.

::

    async with Gateway() as gateway:
        session = gateway.open(ClientAnswerer(open_client("http://localhost:8000")), budget=CallBudget(calls=100))
        ...  # a program that knows session.base_url("chat") and session.api_key
        await session.close()
"""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
