"""Bulk requests."""

import json
from typing import Any

from belated.ledger import Ledger
from ledger_samples import count_rows
from service.site import NDJSON, PLAYED, Site


def lines(*given: Any) -> bytes:
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in given)


def send(site: Site, body: Any, problem: str = "clinic") -> Any:
    return site.post(f"/v1/problems/{problem}/feedback", content=body, headers=NDJSON)


def results(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_results_are_in_the_order_of_the_lines(site: Site) -> None:
    site.define()
    site.define("shop")
    one, two, other = site.open(), site.open(), site.open("shop")
    answer = send(
        site,
        lines(
            {"episode": one, **PLAYED},
            b"{",
            {"episode": one, **PLAYED},
            b"",
            {"episode": one, **PLAYED, "rewards": [0, 0, 0]},
            {"episode": "b" * 22, **PLAYED},
            {"episode": "short", **PLAYED},
            {"episode": two, **PLAYED, "states": ["ill", "ill", "ill", "dead"]},
            {"episode": other, **PLAYED},
            7,
            {"episode": two, **PLAYED},
        ),
    )
    said = results(answer)
    assert [(one["line"], one["status"]) for one in said] == [
        (1, 201),
        (2, 422),
        (3, 200),
        (5, 409),
        (6, 404),
        (7, 422),
        (8, 422),
        (9, 404),
        (10, 422),
        (11, 201),
    ]
    assert said[6]["field"] == "states[3]"
    assert said[0]["result"] == "recorded"
    assert count_rows(site.ledger).events["feedback"] == 2
    assert count_rows(site.ledger).quarantined == 7


def test_an_episode_of_another_problem_looks_unknown(site: Site, ledger: Ledger) -> None:
    site.define()
    site.define("shop")
    good, other = site.open(), site.open("shop")
    ids = (good, other, "b" * 22)
    said = results(send(site, lines(*({"episode": id, **PLAYED} for id in ids))))
    assert [one["status"] for one in said] == [201, 404, 404]
    assert said[1]["message"].replace(other, "") == said[2]["message"].replace("b" * 22, "")
    foreign, unknown = ledger.quarantine
    assert foreign.text is None
    assert unknown.text is not None
    clinic = ledger.problem("clinic")
    assert clinic is not None
    assert foreign.problem == unknown.problem == clinic.id


def test_lines_may_be_split_between_chunks(site: Site) -> None:
    site.define()
    body = lines(*({"episode": site.open(), **PLAYED} for _ in range(3)))

    async def pieces() -> Any:
        for first in range(0, len(body), 7):
            yield body[first : first + 7]

    assert [one["status"] for one in results(send(site, pieces()))] == [201] * 3


def test_an_empty_bulk_request_is_accepted(site: Site) -> None:
    site.define()
    assert results(send(site, b"")) == []
    assert send(site, b"", "nowhere").status_code == 404
    answer = site.post("/v1/problems/clinic/feedback", {})
    assert answer.status_code == 415


def test_too_many_lines_end_with_an_error(ledger: Ledger) -> None:
    with Site(ledger, max_bulk_lines=3) as site:
        site.define()
        body = lines(*({"episode": site.open(), **PLAYED} for _ in range(5)))
        said = results(send(site, body))
        assert [one["status"] for one in said] == [201, 201, 201, 413]
        assert said[-1]["message"] == "Too many lines: at most 3 are allowed."
        assert (said[-1]["line"], said[-1]["episode"]) == (4, None)
        assert count_rows(ledger).events["feedback"] == 3


def test_a_line_that_is_too_large_ends_the_request(ledger: Ledger) -> None:
    with Site(ledger, max_body_bytes=1000) as site:
        site.define()
        good = {"episode": site.open(), **PLAYED}
        said = results(send(site, lines(good, b"x" * 1001)))
        assert [one["status"] for one in said] == [201, 413]
        for tail in (b"x" * 1001, b"x" * 1001 + b"\n"):
            last = results(send(site, lines(good, b"", b"", tail)))[-1]
            assert last["line"] == 4
            assert last["message"] == "Line 4 too large: at most 1000 bytes are allowed."
        assert send(site, b"x" * 1001).status_code == 413


def test_a_body_that_is_too_large_is_rejected(ledger: Ledger) -> None:
    with Site(ledger, max_bulk_bytes=1000) as site:
        site.define()
        good = lines({"episode": site.open(), **PLAYED}, b"")
        assert send(site, good * 10).status_code == 413  # by its Content-Length
        assert "feedback" not in count_rows(ledger).events

        async def pieces() -> Any:
            for _ in range(10):
                yield good

        said = results(send(site, pieces()))
        assert said[0]["status"] == 201
        assert said[-1]["status"] == 413
