from gem.cpus import usable_cpus as usable_cpus
from gem.fork_hooks import after_fork_in_child as after_fork_in_child
from gem_processes.line_worker import LineWorker as LineWorker
from gem_processes.pool import ProcessPool as ProcessPool
from gem_processes.shared_resource import ResourceHandle as ResourceHandle
from gem_processes.shared_resource import SharedResource as SharedResource

__version__: str
