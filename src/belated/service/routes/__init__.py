"""Routes of the API, in one module for each topic."""

from fastapi.routing import APIRoute

from belated.service.routes import episodes, exports, feedback, operations, policies, problems

ROUTERS = (
    *(feedback.router, policies.router, episodes.router, problems.router),
    *(episodes.withdrawals, problems.controls, exports.router, operations.router),
)

HOT_ENDPOINTS = (feedback.send_feedback, policies.read_policy, episodes.open_episode)
"""Functions of the routes with the most requests, which are matched first."""


def routes() -> list[APIRoute]:
    """Return all routes in the order in which they are matched."""
    found = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    return sorted(found, key=lambda route: route.endpoint not in HOT_ENDPOINTS)
