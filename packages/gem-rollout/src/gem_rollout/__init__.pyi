from gem_rollout.engine import EngineCounts as EngineCounts
from gem_rollout.engine import LiveEpisode as LiveEpisode
from gem_rollout.engine import RolloutEngine as RolloutEngine
from gem_rollout.limits import EpisodeLimits as EpisodeLimits
from gem_rollout.plan import EpisodePlan as EpisodePlan
from gem_rollout.plan import EpisodeRequest as EpisodeRequest
from gem_rollout.plan import Mixture as Mixture
from gem_rollout.plan import mixture as mixture
from gem_rollout.plan import plan_episodes as plan_episodes
from gem_rollout.seating import Seating as Seating
from gem_rollout.serial import play_episode as play_episode
from gem_rollout.stream import EpisodeStream as EpisodeStream
from gem_rollout.stream import rollout as rollout
from gem_rollout.summary import Summary as Summary
from gem_rollout.summary import summarize as summarize
from gem_rollout.turn_journal import TurnJournal as TurnJournal

__version__: str
