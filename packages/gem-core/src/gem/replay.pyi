from gem_rollout.replay import *
