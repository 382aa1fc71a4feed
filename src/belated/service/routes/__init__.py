"""Routes, by what they are about."""

from fastapi.routing import APIRoute

from belated.service.routes import (
    controls,
    episodes,
    exports,
    feedback,
    operations,
    policies,
    problems,
    withdrawals,
)


def routes() -> list[APIRoute]:
    """Every route; they are tried in this order, so that what is asked most comes first."""
    return [
        route
        for module in (
            feedback,
            policies,
            episodes,
            problems,
            withdrawals,
            controls,
            exports,
            operations,
        )
        for route in module.router.routes
        if isinstance(route, APIRoute)
    ]
