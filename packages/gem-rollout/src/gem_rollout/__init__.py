"""Policies in many environments at once: the rollout engine, and plain loops over it.

=====================  ================================================================================================
``engine.py``          :class:`RolloutEngine`, an async iterator of finished episodes: what to start, deliver and stop
``episode.py``         one episode's life, from the environment that it gets to its record
``asking.py``          what an episode knows while it is played, and how it asks a policy
``joint_turns.py``     the turns of an episode with several agents, in the environment of ``joint_env.py``
``seating.py``           who plays which seat there: pools of policies, seats that change
``planned_turn.py``    a plain policy, asked in the thread that steps its environment
``weight_gate.py``     what holds these calls back while weights change
``policy_calls.py``    calls of policies: coroutines on the event loop, functions in threads, batches
``environments.py``    the environments of an engine: a vector environment behind futures
``faults.py``          the failure that an exception means
``plan.py``            the episodes to play: lists, groups, mixtures
``sharding.py``        which episodes each of several engines plays, and what follows where one of them dies
``garbage.py``         how often Python looks for reference cycles while an engine runs
``limits.py``          :class:`EpisodeLimits`
``turn_journal.py``    :class:`TurnJournal`, from which another process goes on with unfinished episodes
``stream.py``          :func:`rollout`, a plain iterator over the engine
``serial.py``          :func:`play_episode`, without an engine
``summary.py``         :func:`summarize`
=====================  ================================================================================================
"""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
