"""Authorization by tokens, scopes and problems."""

import asyncio
import json
import re
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from belated.ledger import Ledger
from belated.ledger.kinds import Opened
from belated.service.auth import AuthorizedRoute
from belated.service.routes import routes
from belated.service.state import AppState
from belated.service.tokens import SCOPES
from ledger_samples import count_rows
from service.site import CLINIC, PLAYED, Site

PUBLIC = {"/", "/healthz", "/readyz", "/openapi.json"}
"""Routes that need no token."""

TABLE = [(method, route) for route in routes() for method in sorted(route.methods)]
GUARDED = [(method, route) for method, route in TABLE if route.path not in PUBLIC]
NAMES = [f"{method} {route.path}" for method, route in GUARDED]


def address(route: APIRoute, **given: object) -> str:
    values = {"problem": "clinic", "subject": "me", "version": 1, "episode": "a" * 22, **given}
    return re.sub(r"{(\w+)}", lambda found: str(values[found[1]]), route.path_format)


def test_the_application_has_these_routes_and_no_others(site: Site) -> None:
    assert all(isinstance(route, Route) for route in site.app.routes)
    paths = {route.path for route in site.app.routes if isinstance(route, Route)}
    assert paths == {route.path for _, route in TABLE} | {"/openapi.json"}
    for route in site.app.routes:
        assert isinstance(route, AuthorizedRoute) == (route.path not in PUBLIC)  # type: ignore[attr-defined]


def test_public_routes_answer_without_a_token(site: Site) -> None:
    site.token("read")
    assert {path: site.get(path).status_code for path in PUBLIC} == {
        "/": 200,
        "/healthz": 200,
        "/readyz": 503,
        "/openapi.json": 200,
    }


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two problems, with an episode of the first, and a token for each scope and problem."""
    with (
        Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('town') / 'ledger.db'}") as ledger,
        Site(ledger, token_ttl_s=0.0) as site,
    ):
        site.define()
        site.define("shop")
        episode = site.open()
        tokens = {name: site.token(name) for name in SCOPES}
        other = site.token("admin", problem="shop")
        own = site.token("admin", problem="clinic")
        yield site, episode, tokens, other, own


@pytest.mark.parametrize(("method", "route"), GUARDED, ids=NAMES)
def test_every_route_rejects_an_invalid_token(
    town: Any, method: str, route: AuthorizedRoute
) -> None:
    site, episode, tokens, *_ = town
    path = address(route, episode=episode)
    for token in (None, "", "x", "belated__", tokens["admin"] + "x", tokens["admin"].upper()):
        answer = site.ask(method, path, token, content=b"{")
        assert answer.status_code == 401, token
        assert answer.headers["www-authenticate"] == "Bearer"
    basic = {"authorization": f"Basic {tokens['admin']}"}
    assert site.ask(method, path, headers=basic).status_code == 401


@pytest.mark.parametrize(("method", "route"), GUARDED, ids=NAMES)
def test_every_route_rejects_every_other_scope(
    town: Any, method: str, route: AuthorizedRoute
) -> None:
    site, episode, tokens, *_ = town
    path = address(route, episode=episode)
    for name, token in tokens.items():
        if name not in (route.scope, "admin"):
            assert site.ask(method, path, token, content=b"{").status_code == 403, name


@pytest.mark.parametrize(("method", "route"), GUARDED, ids=NAMES)
def test_every_route_rejects_a_token_of_another_problem(
    town: Any, method: str, route: AuthorizedRoute
) -> None:
    site, episode, _, other, _ = town
    path = address(route, episode=episode)
    if route.all_problems:
        names = [one["name"] for one in site.ask(method, path, other).json()["problems"]]
        assert names == ["shop"]
        return
    assert site.ask(method, path, other, content=b"{").status_code == 403
    missing = address(route, problem="nowhere", episode=episode)
    assert site.ask(method, missing, other, content=b"{").status_code == 403


@pytest.mark.parametrize(("method", "route"), GUARDED, ids=NAMES)
def test_every_route_of_a_problem_admits_its_own_token(
    town: Any, method: str, route: AuthorizedRoute
) -> None:
    site, _, tokens, _, own = town
    path = address(route)  # of an unknown episode, so that nothing changes
    of_one = "{problem}" in route.path or "{episode}" in route.path
    of_one = of_one or route.all_problems
    answer = site.ask(method, path, own, content=b"{")
    assert (answer.status_code in (401, 403)) is not of_one, answer.text
    assert site.ask(method, path, tokens["admin"], content=b"{").status_code not in (401, 403)


def test_a_token_of_a_problem_cannot_send_feedback_of_another_one_in_bulk(town: Any) -> None:
    site, episode, _, other, _ = town
    before = count_rows(site.ledger).events.get("feedback", 0)
    answer = site.ask(
        "POST",
        "/v1/problems/shop/feedback",
        other,
        content=json.dumps({"episode": episode, **PLAYED}),
        headers={"content-type": "application/x-ndjson"},
    )
    assert json.loads(answer.text)["status"] == 404
    assert count_rows(site.ledger).events.get("feedback", 0) == before


def test_a_token_of_a_problem_cannot_use_an_episode_that_is_opened_meanwhile(
    town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _, tokens, other, _ = town
    id = "m" * 22
    look_up = AppState.episode

    async def slow(self: AppState, episode: str) -> Any:
        found = await look_up(self, episode)
        opened = await site.asking(
            "POST", "/v1/problems/clinic/episodes", tokens["decide"], json={"id": id}
        )
        assert opened.status_code == 201
        return found

    site.host.step()
    monkeypatch.setattr(AppState, "episode", slow)
    answer = site.ask("POST", f"/v1/episodes/{id}/feedback", other, json=PLAYED)
    assert answer.status_code == 404
    assert id not in {event.episode for event in site.ledger.events(kinds=["feedback"])}


def test_episodes_that_are_requested_during_a_query_are_read_by_one_query(
    town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = town[0]
    problem, release = site.ledger.problem("clinic").id, threading.Event()
    ids = [one.episode.id for one in site.ledger.append([Opened(problem, 1) for _ in range(4)])]
    read, queries = site.ledger.episodes, []

    def slow(wanted: Iterable[str]) -> Any:
        queries.append(sorted({*wanted}))
        assert release.wait(30)
        if "lost" in wanted:
            raise OSError("lost")
        return read(wanted)

    async def look_up(*later: str) -> list[Any]:
        release.clear()
        queries.clear()
        state = site.app.state.belated
        asked = [asyncio.create_task(state.episode(later[0]))]
        while not queries:
            await asyncio.sleep(0)
        asked += [asyncio.create_task(state.episode(id)) for id in later[1:]]
        for _ in range(5):
            await asyncio.sleep(0)
        release.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        return [each and getattr(each, "problem", str(each)) for each in found]

    monkeypatch.setattr(site.ledger, "episodes", slow)
    found = site.run(look_up(*ids, ids[3], "u" * 22))
    assert found == [problem] * 5 + [None]
    assert queries == [[ids[0]], sorted([*ids[1:], "u" * 22])]
    assert site.run(look_up("n" * 22, "lost", "p" * 22)) == [None, "lost", "lost"]


def test_a_token_of_a_problem_cannot_ask_about_an_episode_of_another(town: Any) -> None:
    site, episode, _, other, _ = town
    asked = {"state": 0, "step": 0, "episode": episode}
    answer = site.ask("POST", "/v1/problems/shop/decide", other, json=asked)
    assert answer.status_code == 404


def test_every_route_has_a_known_scope() -> None:
    assert {route.scope for _, route in GUARDED if isinstance(route, AuthorizedRoute)} <= {*SCOPES}


def test_a_revoked_token_is_rejected(site: Site) -> None:
    token = site.token("admin")
    assert site.ask("GET", "/v1/problems", token).status_code == 200
    site.ledger.tokens.revoke(token.split("_")[1])
    assert site.ask("GET", "/v1/problems", token).status_code == 401


def test_no_token_is_needed_until_the_first_is_created(site: Site) -> None:
    assert site.get("/v1/problems").status_code == 200
    token = site.token("admin")
    assert site.get("/v1/problems").status_code == 401
    site.ledger.tokens.revoke(token.split("_")[1])
    assert site.get("/v1/problems").status_code == 401


def test_a_service_that_is_not_open_always_needs_a_token(ledger: Ledger) -> None:
    with Site(ledger, open=False) as site:
        assert site.get("/v1/problems").status_code == 401
        assert site.post("/v1/problems", CLINIC).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:8000"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "["},
        {"host": "localhost:8000", "origin": "http://localhost:3000"},
        {"host": "localhost:8000", "origin": "http://127.0.0.1:8000"},
        {"host": "localhost:8000", "origin": "https://localhost:8000"},
        {"host": "localhost:8000", "origin": "http://localhost"},
        {"host": "localhost:8000", "origin": ""},
    ],
)
def test_an_open_service_rejects_other_sites(site: Site, headers: dict[str, str]) -> None:
    assert site.get("/v1/problems", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "name", ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"]
)
def test_an_open_service_rejects_a_proxy(site: Site, name: str) -> None:
    answer = site.get("/v1/problems", headers={name: "x"})
    assert answer.status_code == 403
    assert "forwarded" in answer.json()["message"]
    token = site.token("read")
    assert site.get("/v1/problems", token=token, headers={name: "x"}).status_code == 200


def test_an_open_service_accepts_its_own_pages(site: Site) -> None:
    headers = {"host": "localhost:8000", "origin": "http://localhost:8000"}
    assert site.get("/v1/problems", headers=headers).status_code == 200
