from gem_gateway.budgets import CallBudget as CallBudget
from gem_gateway.client_answerer import ClientAnswerer as ClientAnswerer
from gem_gateway.gateway import Gateway as Gateway

__version__: str
