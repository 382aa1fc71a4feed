"""Routes of the API, in one module for each topic."""

from fastapi.routing import APIRoute

from belated.service.routes import episodes, exports, feedback, operations, policies, problems

HOT_ENDPOINTS = (feedback.send_feedback, policies.read_policy, episodes.open_episode)
"""Functions of the routes with the most requests, which are matched first."""


def routes() -> list[APIRoute]:
    """Return all routes in the order in which they are matched."""
    found = [
        *(*feedback.routes, *episodes.routes, *policies.routes, *problems.routes),
        *(*episodes.withdrawals, *problems.controls, *exports.routes),
        *(route for route in operations.router.routes if isinstance(route, APIRoute)),
        *operations.routes,
    ]
    return sorted(found, key=lambda route: route.endpoint not in HOT_ENDPOINTS)
