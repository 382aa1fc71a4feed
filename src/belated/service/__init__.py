"""HTTP service for the problems in a ledger, started by `belated serve`."""

try:
    import fastapi as fastapi
    import prometheus_client as prometheus_client
except ImportError:
    raise ImportError(
        "belated.service needs FastAPI and prometheus-client: pip install 'belated[service]'."
    ) from None

from belated.service.app import create_app
from belated.service.settings import Settings

__all__ = ["Settings", "create_app"]
