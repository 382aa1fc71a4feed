"""Dashboard: one HTML page, assembled from the files in this folder.

Style and script are inline, and the Content-Security-Policy allows them by their hashes. The page
loads no other code, and connects only to the service from which it was loaded.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Final, NamedTuple

SCRIPTS: Final = (
    *("dom", "format", "api", "scales", "charts", "header", "pending", "history", "palette"),
    *("legend", "overview", "policy", "versions", "diff", "controls", "forms", "main"),
)
"""Names of the JavaScript files of the page, which are concatenated in this order."""


class Page(NamedTuple):
    """HTML page, and its Content-Security-Policy."""

    html: str
    security_policy: str  # value of the header Content-Security-Policy


@cache
def build_page() -> Page:
    """Return the page of the dashboard. Its files are read at the first call only."""
    style = _read("style.css")
    script = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    html = Template(_read("page.html")).substitute(style=style, script=script)
    return Page(html, security_policy(style, script))


def security_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy that allows only this inline `style` and `script`.

    >>> security_policy("", "").split("; ")[:2]
    ["default-src 'none'", "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"]
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash_source(script)}'",
            f"style-src '{_hash_source(style)}'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _hash_source(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
