from gem.processes.cpus import usable_cpus as usable_cpus
from gem.processes.fork_hooks import after_fork_in_child as after_fork_in_child
from gem.processes.line_worker import LineWorker as LineWorker
from gem.processes.pool import ProcessPool as ProcessPool
from gem.processes.shared_resource import ResourceHandle as ResourceHandle
from gem.processes.shared_resource import SharedResource as SharedResource
