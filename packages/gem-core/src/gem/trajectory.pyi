from gem_rollout.trajectory import *
