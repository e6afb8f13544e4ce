"""The errors of run folders and of the configuration of a run."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["ConfigChangedError", "EvaluationConfigError", "RunFolderError", "RunInUseError", "WorkerError"]


class RunFolderError(GemError, ValueError):
    """A folder that is no run, or a run that cannot be read or written as asked."""


class RunInUseError(RunFolderError):
    """Another process is writing into the run folder.

    Attributes:
        pid: the id of that process; None if it is unknown.
    """

    def __init__(self, message: str, *, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class EvaluationConfigError(GemError, ValueError):
    """A configuration of an evaluation that has an impossible value or contradicts itself."""


class WorkerError(GemError, RuntimeError):
    """No worker process of an evaluation can be started."""


class ConfigChangedError(RunFolderError):
    """A run is resumed with another configuration, other code or another model.

    Attributes:
        differences: one sentence for each.
    """

    def __init__(self, message: str, differences: list[str]) -> None:
        super().__init__(message)
        self.differences = differences
