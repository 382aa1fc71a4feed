"""Routes for operators of the service: health, readiness, metrics and the dashboard."""

from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from belated.ledger.outages import DISK_FULL, describe_outage
from belated.service.auth import Routes
from belated.service.dashboard import build_page
from belated.service.responses import Health, Readiness
from belated.service.state import AppState, get_state

DISK_FULL_S: Final = 10.0
"""Time in seconds for which the service is not ready after a write failed on a full disk.

The write probe writes little, so it can succeed on a disk that is too full for other writes."""

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
    # the cached result of a probe may be older than the last error
    outage = await state.write_outages.get(None, lambda: probe(state)) or recent_full_disk(state)
    host, reasons = state.host, []
    if outage:
        reasons.append(f"The store cannot be written to: {outage}.")
    if not host.ready:
        reasons.append("The events in the store have not been processed yet.")
    if host.last_error is not None:
        kind = host.last_error.partition(":")[0]  # the message may contain an address
        reasons.append(f"New events could not be processed: {kind}.")
    readiness = Readiness(
        ready=not reasons,
        reasons=reasons,
        store=not outage,
        caught_up=host.ready,
        plans=host.plans,
        failed=len(host.failures),
    )
    return JSONResponse(readiness, 503 if reasons else 200)


async def probe(state: AppState) -> str:
    """Return the reason why the store could not be written to; an empty text if it could."""
    try:
        await state.probe_threads.run(state.ledger.store.probe)
    except Exception as error:
        state.writes.failed(error)
        return str(describe_outage(error))
    if not recent_full_disk(state):
        state.writes.succeeded()
    return ""


def recent_full_disk(state: AppState) -> str:
    """Return a description of the error if the last write failed on a full disk, else no text.

    An error that occurred more than `DISK_FULL_S` seconds ago is ignored.
    """
    outage = state.writes.recent(DISK_FULL_S)
    return str(outage) if outage is not None and outage.reason == DISK_FULL else ""


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
