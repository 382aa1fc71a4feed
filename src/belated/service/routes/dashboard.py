"""Dashboard: the page for people. It holds no data, and so needs no token."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from belated.service.dashboard import page

router = APIRouter(tags=["dashboard"])
PUBLIC = ("/",)
"""What anybody may ask; the page itself asks for what it shows, with the token of who reads it."""


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def dashboard() -> HTMLResponse:
    """The page."""
    made = page()
    headers = {"Content-Security-Policy": made.policy, "Cache-Control": "no-cache"}
    return HTMLResponse(made.html, headers=headers)
