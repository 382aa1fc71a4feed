"""Requests that are small to send and expensive to answer: exports, definitions, blank lines."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from belated.ledger import Ledger
from service.site import CLINIC, NDJSON, PLAYED, Site, wait_until

BASE = "/v1/problems/clinic"
JSON = {"content-type": "application/json"}


def define(site: Site, name: str) -> Any:
    return site.post("/v1/problems", CLINIC | {"name": name})


class HeldExports:
    """Replacement of `build_parquet` that waits until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from belated.service.routes import exports

        self.entered, self._go, self._build = 0, threading.Event(), exports.build_parquet
        monkeypatch.setattr(exports, "build_parquet", self._hold)

    def _hold(self, ledger: Ledger, problem: int) -> Any:
        self.entered += 1
        assert self._go.wait(60)
        return self._build(ledger, problem)

    def release(self) -> None:
        self._go.set()


def start_exports(site: Site, count: int) -> list[Callable[[], Any]]:
    return [site.start(site.asking("GET", f"{BASE}/events.parquet")) for _ in range(count)]


def test_exports_do_not_delay_the_status(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.define()
    held = HeldExports(monkeypatch)
    exports = start_exports(site, 4)
    wait_until(lambda: held.entered >= 2)
    try:
        assert site.get(f"{BASE}/status").status_code == 200
        assert site.get("/metrics").status_code == 200
        site.define("other")
    finally:
        held.release()
    assert [export().status_code for export in exports] == [200] * 4


def test_too_many_exports_at_a_time_give_429(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site(ledger, max_exports=2) as site:
        site.define()
        held = HeldExports(monkeypatch)
        exports = start_exports(site, 2)
        wait_until(lambda: held.entered == 2)
        for path in ("events.parquet", "events", "quarantine"):
            refused = site.get(f"{BASE}/{path}")
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert refused.json() == {
                "error": "too many requests",
                "message": "There are 2 exports at the moment, the maximum. Try again.",
                "field": None,
            }
        held.release()
        assert [export().status_code for export in exports] == [200] * 2
        for path in ("events.parquet", "events", "quarantine") * 2:
            assert site.get(f"{BASE}/{path}").status_code == 200


def test_an_export_that_fails_makes_room_for_the_next(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> Any:
        raise RuntimeError("no space left")

    with Site(ledger, max_exports=1) as site:
        site.define()
        with monkeypatch.context() as patched:
            patched.setattr("belated.service.routes.exports.build_parquet", fail)
            for _ in range(2):
                assert site.get(f"{BASE}/events.parquet").status_code == 500
        assert site.get(f"{BASE}/events.parquet").status_code == 200


def test_the_number_of_problems_is_limited(ledger: Ledger) -> None:
    with Site(ledger, max_problems=2) as site:
        answers = [define(site, name) for name in ("one", "two", "three", "one")]
        assert [answer.status_code for answer in answers] == [201, 201, 422, 200]
        assert answers[2].json()["message"] == "The number of problems must be at most 2."


def test_the_size_of_all_problems_together_is_limited(ledger: Ledger) -> None:
    cells = 3 * 2 * 2
    with Site(ledger, max_total_cells=2 * cells) as site:
        answers = [define(site, name) for name in ("one", "two", "three", "one")]
        assert [answer.status_code for answer in answers] == [201, 201, 422, 200]
        refused = answers[2].json()
        assert refused["field"] == "horizon"
        assert refused["message"].startswith(
            "The sum of horizon x states x actions over all problems must be at most 24; it is 24, "
            "and this problem has 12. "
        )


def test_definitions_that_arrive_together_keep_the_limit(ledger: Ledger) -> None:
    with Site(ledger, max_problems=3) as site:
        bodies = [CLINIC | {"name": f"clinic-{i}"} for i in range(8)]
        started = [site.start(site.asking("POST", "/v1/problems", json=body)) for body in bodies]
        statuses = sorted(wait().status_code for wait in started)
        assert statuses == [201] * 3 + [422] * 5


def test_blank_lines_count_as_lines(ledger: Ledger) -> None:
    with Site(ledger, max_bulk_lines=3) as site:
        site.define()
        path = f"{BASE}/feedback"
        refused = site.post(path, content=b"\n" * 4, headers=NDJSON)
        assert refused.status_code == 413
        assert refused.json()["message"] == "Too many lines: at most 3 are allowed."
        line = json.dumps({"episode": site.open(), **PLAYED}).encode()
        accepted = site.post(path, content=b"\n\n" + line + b"\n", headers=NDJSON)
        assert [json.loads(text)["status"] for text in accepted.text.splitlines()] == [201]
