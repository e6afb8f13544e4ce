from gem_envs_qa.atlas.atlas import Atlas as Atlas
from gem_envs_qa.atlas.atlas import atlas_of as atlas_of
from gem_envs_qa.atlas.env import AtlasEnv as AtlasEnv
