"""Every error that GEM raises, and the built-in that each one refines.

::

    GemError
    ├── ArgumentError (ValueError)              an argument has an impossible value
    ├── ArgumentTypeError (TypeError)           an argument has the wrong type
    │   └── UnknownArgumentError                no argument has this name
    ├── IncompleteEnvError (TypeError)          a class of environments lacks reset or step
    ├── InvalidIdError (ValueError)             not of the form [owner/]namespace:Name[-vN][-variant]
    ├── UnknownEnvironmentError (LookupError, ValueError)
    ├── EnvironmentConflictError (ValueError)   two distributions claim one id
    ├── DuplicateRegistrationError (ValueError)
    ├── EntryPointError (ImportError)           "module:attribute" cannot be loaded
    ├── ManifestError (ValueError)              an environments.toml breaks its schema
    ├── MissingPackageError (ModuleNotFoundError)  a module of gem comes with a package that is not installed
    ├── MissingPluginError (LookupError)        the package that brings a name is not installed
    ├── ResetNeededError (RuntimeError)         step before the first reset
    │   └── EpisodeFinishedError                step after the end of an episode
    ├── StateError (ValueError)                 set_state got an argument that get_state never returned
    ├── NotSupportedError (NotImplementedError) this environment does not offer the operation
    ├── InvalidResultError (ValueError)         an environment returned a value that the contract excludes
    ├── EpisodeLimitError (RuntimeError)        a policy has reached a limit that ends its episode
    ├── TrajectoryError (ValueError)            a record does not fit the trajectory schema
    ├── ToolError (ValueError)                  a tool is declared or configured wrongly
    ├── VectorError (RuntimeError)              a vector environment was called out of order
    │   └── LostEnvironmentError                one of its environments has failed or died, and is asked for something
    ├── DatasetError (RuntimeError)             a data set is unavailable or malformed
    ├── ProcessCallError (RuntimeError)         a function in a worker process raised or could not be called
    │   ├── ProcessTimeoutError (TimeoutError)  it took too long
    │   └── ProcessCrashError                   its process died
    ├── ForkServerError (RuntimeError)          a fork server does not become ready
    └── LineWorkerError (ConnectionError)       a program that answers lines has ended, is late, or refuses

A caller can catch ``GemError`` for all of them, or the matching built-in. Each message states the
fault, the value, and the remedy.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "DatasetError",
    "DuplicateRegistrationError",
    "EntryPointError",
    "EnvironmentConflictError",
    "EpisodeFinishedError",
    "EpisodeLimitError",
    "ForkServerError",
    "GemError",
    "IncompleteEnvError",
    "InvalidIdError",
    "InvalidResultError",
    "LineWorkerError",
    "LostEnvironmentError",
    "ManifestError",
    "MissingPackageError",
    "MissingPluginError",
    "NotSupportedError",
    "PluginWarning",
    "ProcessCallError",
    "ProcessCrashError",
    "ProcessTimeoutError",
    "ResetNeededError",
    "StateError",
    "ToolError",
    "TrajectoryError",
    "UnknownArgumentError",
    "UnknownEnvironmentError",
    "VectorError",
]


class GemError(Exception):
    """Base class of every error that GEM raises on purpose."""


class ArgumentError(GemError, ValueError):
    """An argument has the right type and an impossible value."""


class ArgumentTypeError(GemError, TypeError):
    """An argument has the wrong type."""


class UnknownArgumentError(ArgumentTypeError):
    """A keyword argument that the constructor does not have.

    Attributes:
        argument: its name.
    """

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class IncompleteEnvError(GemError, TypeError):
    """A class of environments lacks ``reset`` or ``step`` and is not declared abstract."""


class InvalidIdError(GemError, ValueError):
    """An environment id that does not follow the grammar of :mod:`gem.ids`."""


class UnknownEnvironmentError(GemError, LookupError, ValueError):
    """No installed package and no registration provides this environment id."""


class EnvironmentConflictError(GemError, ValueError):
    """Two installed distributions provide the same environment id."""


class DuplicateRegistrationError(GemError, ValueError):
    """An id is registered a second time without ``replace=True``."""


class EntryPointError(GemError, ImportError):
    """A ``"module:attribute"`` string that cannot be imported or is not callable."""


class ManifestError(GemError, ValueError):
    """An ``environments.toml`` that cannot be read or breaks its schema."""


class MissingPackageError(GemError, ModuleNotFoundError):
    """A module of ``gem`` that comes with a package of its own, which is not installed."""


class MissingPluginError(GemError, LookupError):
    """A name that belongs to a package that is not installed."""


class ResetNeededError(GemError, RuntimeError):
    """``step`` was called where only ``reset`` makes sense."""


class EpisodeFinishedError(ResetNeededError):
    """``step`` was called on an episode that has ended."""


class StateError(GemError, ValueError):
    """A state that this environment cannot take."""


class NotSupportedError(GemError, NotImplementedError):
    """The environment does not implement this optional part of the interface."""


class InvalidResultError(GemError, ValueError):
    """An environment returned a value that the contract excludes, such as a reward that is no finite number."""


class EpisodeLimitError(GemError, RuntimeError):
    """A policy has reached a limit, such as its model's context: the episode ends, truncated, and is scored.

    Attributes:
        limit: the word for it in ``Trajectory.stop_reason``, for example ``"context"``.
    """

    def __init__(self, limit: str, message: str = "") -> None:
        super().__init__(message or f"the policy has reached its limit of {limit}")
        self.limit = limit


class TrajectoryError(GemError, ValueError):
    """A recorded trajectory that cannot be read."""


class ToolError(GemError, ValueError):
    """A tool that is declared or configured wrongly (never: a call that failed)."""


class VectorError(GemError, RuntimeError):
    """A vector environment was used out of order, for example closed or without a reset."""


class LostEnvironmentError(VectorError):
    """Something was asked of an environment that has failed, or whose process has ended, and is not built again yet.

    The attributes tell :mod:`gem_rollout`, whose agents may ask for random actions, to play the episode again.
    """

    failure_source = "environment"
    failure_kind = "lost"


class DatasetError(GemError, RuntimeError):
    """A data set, a split or a row is unavailable or malformed."""


class ForkServerError(GemError, RuntimeError):
    """A fork server (:mod:`gem_processes.fork_server`) does not become ready.

    Attributes:
        exception: the class name of the exception that it raised; None if it died or sent none.
    """

    def __init__(self, message: str, *, exception: str | None = None) -> None:
        super().__init__(message)
        self.exception = exception


class LineWorkerError(GemError, ConnectionError):
    """A program that answers lines with lines cannot be started, has ended, is too slow, or refuses a request."""


class ProcessCallError(GemError, RuntimeError):
    """A call of a :class:`gem_processes.ProcessPool` has no result.

    Attributes:
        exception: the class name of the exception that the function raised; None if it raised none.
        ends: whether the worker ended as well.
    """

    def __init__(self, message: str, *, exception: str | None = None, ends: bool = False) -> None:
        super().__init__(message)
        self.exception = exception
        self.ends = ends


class ProcessTimeoutError(ProcessCallError, TimeoutError):
    """A call took longer than its time limit; its process was killed."""


class ProcessCrashError(ProcessCallError):
    """The process of a call died."""


class PluginWarning(UserWarning):
    """An installed plugin is broken; the message names it. All other plugins keep working."""
