"""An evaluation in several processes.

One process writes the run folder, as in an evaluation without workers: it gives episodes to workers, which play them
with an engine each, and writes the lines that come back. So a run has one order, one index and one lock, readers need
not know of workers, and rewards and trackers are asked by one process.

=============  =========================================================================
``pool``       the evaluation's side: gives episodes to the workers, and replaces dead ones
``worker``     the process of one worker, as the evaluation sees it
``main``       the worker's side
``messages``   the form of the messages
``share``      what a worker must know, and what cannot travel to one
=============  =========================================================================
"""
