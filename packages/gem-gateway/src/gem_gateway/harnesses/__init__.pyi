from gem_gateway.harnesses.agent_task import AgentTask as AgentTask
from gem_gateway.harnesses.errors import HarnessError as HarnessError
from gem_gateway.harnesses.harness import Harness as Harness
from gem_gateway.harnesses.policies import harness_policy as harness_policy
from gem_gateway.harnesses.policy import HarnessPolicy as HarnessPolicy
from gem_gateway.harnesses.table import harnesses as harnesses
