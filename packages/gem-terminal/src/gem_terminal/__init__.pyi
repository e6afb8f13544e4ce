from gem_terminal.env import TerminalEnv as TerminalEnv
from gem_terminal.episodes.snapshot_store import SnapshotStore as SnapshotStore
from gem_terminal.formats import load_task as load_task
from gem_terminal.formats import load_tasks as load_tasks
from gem_terminal.task import Task as Task

__version__: str
