"""HTTP service for the problems in a ledger, started by `belated serve`."""

from belated.extras import missing_extra

try:
    import fastapi as fastapi
    import prometheus_client as prometheus_client
    import uvicorn as uvicorn
except ImportError:
    raise ImportError(
        missing_extra("belated.service", "FastAPI, prometheus-client and uvicorn", "service")
    ) from None

from belated.service.app import create_app
from belated.service.limits import Settings

__all__ = ["Settings", "create_app"]
