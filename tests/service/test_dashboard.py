"""The page of the dashboard and its security policy."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

import pytest

from belated.service import dashboard
from service.site import Site


def test_it_is_served_without_a_token(site: Site) -> None:
    site.token("read")
    answer = site.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.text == dashboard.build_page().html


def test_head_has_the_headers_of_the_page(site: Site) -> None:
    same = {"X-Request-ID": "same"}
    head, page = (site.ask(method, "/", headers=same) for method in ("HEAD", "GET"))
    assert head.status_code == 200
    assert dict(head.headers) == dict(page.headers)


def test_the_security_policy_allows_only_its_own_style_and_script(site: Site) -> None:
    answer = site.get("/")
    allowed = dict(
        rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; ")
    )
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        [text] = re.findall(rf"(?s)<{tag}[^>]*>(.*?)</{tag}>", answer.text)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert allowed.pop(rule) == f"'sha256-{digest}'"
    assert allowed == {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.parametrize(
    "forbidden",
    [
        r"https?://",  # another origin
        r"\sstyle=",  # blocked by the security policy
        r"\son[a-z]+=",
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(",  # parsing of names
        r"localStorage|document\.cookie",  # a token is kept for one tab
    ],
)
def test_the_page_does_not_contain(forbidden: str) -> None:
    assert not re.search(forbidden, dashboard.build_page().html)


def test_the_page_is_small() -> None:
    assert len(dashboard.build_page().html.encode()) < 100_000


def test_every_script_is_part_of_the_page() -> None:
    found = {file.name for file in files(dashboard).iterdir() if file.name.endswith(".js")}
    assert found == {f"{name}.js" for name in dashboard.SCRIPTS}


def test_every_element_that_a_script_uses_exists() -> None:
    page = dashboard.build_page().html
    asked = set(re.findall(r"\bbyId\('([\w-]+)'\)", page))
    assert set() < asked <= set(re.findall(r'\bid="([\w-]+)"', page))
