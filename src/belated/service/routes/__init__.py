"""Routes, by what they are about."""

from fastapi.routing import APIRoute

from belated.service.routes import (
    controls,
    dashboard,
    episodes,
    exports,
    feedback,
    operations,
    policies,
    problems,
    quarantine,
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
            quarantine,
            operations,
            dashboard,
        )
        for route in module.router.routes
        if isinstance(route, APIRoute)
    ]
