from gem_eval.trackers.tracker import RunTracker as RunTracker
from gem_eval.trackers.tracker import episode_figures as episode_figures
from gem_eval.trackers.tracker import flat_figures as flat_figures
from gem_eval.trackers.tracking import RunTracking as RunTracking
