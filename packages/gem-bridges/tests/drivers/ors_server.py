"""Serves environments of GEM with openreward's server. Arguments: the port, then ids."""

import os
import sys

from openreward.environments import Server

from gem_bridges.ors.outward import ors_environment

os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"
Server([ors_environment(env_id, tasks=20) for env_id in sys.argv[2:]]).run(host="127.0.0.1", port=int(sys.argv[1]))
