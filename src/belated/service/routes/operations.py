"""Routes for operators of the service: health, readiness, metrics and the dashboard."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from belated.service.auth import Routes
from belated.service.dashboard import build_page
from belated.service.operations.readiness import find_write_outage, list_reasons
from belated.service.responses import Health, Readiness
from belated.service.state import get_state

# Routes that need no token, because their responses contain no data of problems.
router = APIRouter(tags=["operations"])
routes = Routes("operations", "")


@router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Return a constant response, which shows that the service is running."""
    return JSONResponse(Health(status="ok"))


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Not ready."}},
)
async def readyz(request: Request) -> Response:
    """Return whether the service is ready.

    The service is ready if the store can be written to, the events in the store have been processed
    once, and the last attempt to process new events succeeded. Otherwise the status is 503, and
    `reasons` says why. The result of a write is reused for about two seconds.
    """
    state = get_state(request)
    outage, host = await find_write_outage(state), state.host
    reasons = list_reasons(outage, host)
    readiness = Readiness(
        ready=not reasons,
        reasons=reasons,
        store=outage is None,
        caught_up=host.ready,
        plans=host.plans,
        failed=len(host.failures),
    )
    return JSONResponse(readiness, 503 if reasons else 200)


@routes.add(
    "GET",
    "/metrics",
    "metrics",
    responses={
        200: {
            "description": "Metrics in Prometheus' text format.",
            "content": {
                "text/plain": {
                    "schema": {"type": "string"},
                    "example": "belated_queue_events 0.0\n",
                }
            },
        }
    },
)
async def metrics(request: Request) -> Response:
    """Return the metrics of the service in Prometheus' text format.

    The metrics of a problem describe its state when this process last folded its events.
    """
    state = get_state(request)
    text = await state.query_threads.run(generate_latest, state.metrics.registry)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


# Monitors often ask with HEAD.
for path, endpoint in (("/healthz", healthz), ("/readyz", readyz)):
    router.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def dashboard() -> HTMLResponse:
    """Return the HTML page of the dashboard.

    The page contains no data. Its script requests data from the service with the user's token.
    """
    page = build_page()
    headers = {"Content-Security-Policy": page.security_policy, "Cache-Control": "no-cache"}
    return HTMLResponse(page.html, headers=headers)
