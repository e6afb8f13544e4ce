from gem_rollout.speed import *
