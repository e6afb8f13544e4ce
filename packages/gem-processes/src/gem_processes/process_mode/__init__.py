"""Process mode: environments in worker processes that a fork server forks.

``vector_env.py``  :class:`ProcessVectorEnv`, the mode; ``recovery.py`` puts another worker in the place of a dead one
``worker_pool.py``  the fork server and the workers, seen from the trainer; ``server.py`` is the fork server's own side
``worker.py``      a worker: it applies batches of commands to its environments; ``timed_group.py`` ends calls that hang
``packets.py``     the messages between both; ``makers.py`` sends makers; ``call_page.py`` shows which call is running
``stand_in.py``  an environment of a worker, seen from the trainer
"""
