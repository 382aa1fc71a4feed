"""Operations: whether the service is well, for those who run it."""

from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from belated.online.host import Failure
from belated.online.status import ProblemStatus
from belated.service import models
from belated.service.guard import Guarded, scope
from belated.service.state import State, state_of

router = APIRouter(tags=["operations"])
PUBLIC = ("/healthz", "/readyz")
"""What anybody may ask: it tells of no problem."""


@router.get("/healthz", response_model=models.Health)
async def healthz() -> models.Health:
    """Whether it answers at all."""
    return models.Health()


@router.get(
    "/readyz",
    response_model=models.Readiness,
    responses={503: {"model": models.Readiness, "description": "It is not ready."}},
)
async def readyz(request: Request, response: Response) -> dict[str, Any]:
    """Whether the store can be reached, and all that is in it has been folded once."""
    state = state_of(request)
    try:
        await state.quick(lambda: state.ledger.last)
        store = True
    except Exception:
        store = False
    host = state.host
    ready = store and host.ready and host.last_error is None
    response.status_code = 200 if ready else 503
    return {
        "ready": ready,
        "store": store,
        "caught_up": host.ready,
        "plans": host.plans,
        "failed": len(host.failures),
    }


async def metrics(request: Request) -> Response:
    """Counts and times, for Prometheus."""
    state = state_of(request)
    page = await state.slow(_page, state)
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})


router.routes.append(
    Guarded(
        "/metrics",
        scope("metrics")(metrics),
        methods=["GET"],
        tags=["operations"],
        response_class=Response,
        responses={
            200: {
                "description": "In Prometheus' text format.",
                "content": {
                    "text/plain": {
                        "schema": {"type": "string"},
                        "example": "belated_queue_events 0.0\n",
                    }
                },
            }
        },
    )
)


def _page(state: State) -> bytes:
    standings: list[tuple[str, ProblemStatus | None]] = []
    for problem in state.ledger.problems():
        standing = state.host.status_nowait(problem)
        standings.append((problem.name, None if isinstance(standing, Failure) else standing))
    return state.metrics.page(state.host.plans, standings)
