"""Routes of the API, in one module for each topic."""

from fastapi.routing import APIRoute

from belated.service.routes import episodes, exports, feedback, operations, policies, problems


def routes() -> list[APIRoute]:
    """Return all routes in the order in which they are matched, frequent ones first."""
    return [
        *(*feedback.routes, *episodes.routes, *policies.routes, *problems.routes),
        *(*episodes.withdrawals, *problems.controls, *exports.routes),
        *(route for route in operations.router.routes if isinstance(route, APIRoute)),
        *operations.routes,
    ]
