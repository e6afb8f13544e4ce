"""A module that starts a thread when it is imported."""

import threading

from planted_envs.healthy import Sums

threading.Thread(target=threading.Event().wait, daemon=True, name="prefetch").start()


class ThreadImport(Sums):
    """Importing its module starts a thread."""
