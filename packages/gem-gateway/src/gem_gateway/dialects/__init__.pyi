from gem_gateway.dialects.base import CallDialect as CallDialect
