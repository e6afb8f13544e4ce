from gem_terminal_remote.fleet import FleetEngine as FleetEngine
from gem_terminal_remote.kubernetes import KubernetesEngine as KubernetesEngine
from gem_terminal_remote.workers import EngineWorker as EngineWorker
from gem_terminal_remote.workers import WorkerEngine as WorkerEngine

__version__: str
