"""Routes of the API, in one module for each topic."""

from fastapi.routing import APIRoute

from belated.service.routes import (
    bulk,
    controls,
    episodes,
    exports,
    feedback,
    operations,
    policies,
    problems,
    withdrawals,
)

# Routes are matched in this order, so those with the most requests come first.
MODULES = (feedback, bulk, policies, episodes, problems, withdrawals, controls, exports, operations)


def routes() -> list[APIRoute]:
    """Return all routes in the order in which they are matched."""
    return [
        route for module in MODULES for route in module.router.routes if isinstance(route, APIRoute)
    ]
