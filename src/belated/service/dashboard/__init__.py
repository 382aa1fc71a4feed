"""Dashboard: one page for people, put together once from the files beside this one.

Its style and script stand in the page itself, and the policy for the browser names them by their
hashes: it runs nothing else, and asks nobody but the service that it came from.
"""

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Final

SCRIPTS: Final = (
    "dom",
    "words",
    "api",
    "scales",
    "charts",
    "header",
    "pending",
    "history",
    "palette",
    "legend",
    "overview",
    "policy",
    "versions",
    "diff",
    "controls",
    "gate",
    "main",
)
"""They make one module, in this order: the last one begins."""


@dataclass(frozen=True)
class Page:
    """What a browser gets."""

    html: str
    policy: str
    """Its Content-Security-Policy."""


@cache
def page() -> Page:
    """The page; the files are read once."""
    style = _read("style.css")
    script = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    html = Template(_read("page.html")).substitute(style=style, script=script)
    return Page(html, policy_of(style, script))


def policy_of(style: str, script: str) -> str:
    """What such a page may do.

    >>> policy_of("", "").split("; ")[:2]
    ["default-src 'none'", "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"]
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_source(script)}'",
            f"style-src '{_source(style)}'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _source(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
