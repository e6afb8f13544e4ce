from gem_rollout import *
