from gem_gateway.budgets import CallBudget as CallBudget
from gem_gateway.client_answerer import ClientAnswerer as ClientAnswerer
from gem_gateway.dialects.base import CallSettings as CallSettings
from gem_gateway.gateway import Gateway as Gateway
from gem_gateway.generate_client import GenerateClient as GenerateClient
from gem_gateway.limits import ExchangeLimits as ExchangeLimits
from gem_gateway.policy_client import PolicyClient as PolicyClient
from gem_gateway.sessions import GatewaySession as GatewaySession

__version__: str
