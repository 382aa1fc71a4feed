"""Limits on bodies and on the queue."""

import threading
from typing import Any

import pytest

from belated.ledger import Ledger
from ledger_samples import count_rows
from service.site import PLAYED, Site, wait_until


def test_a_full_queue_gives_503(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with Site(ledger, max_queued_events=2) as site:
        site.define()
        ids = [site.open() for _ in range(6)]
        entered, go, append = threading.Event(), threading.Event(), ledger.append

        def held(events: Any) -> Any:
            events = list(events)  # takes the batch from the queue
            entered.set()
            assert go.wait(30)
            return append(events)

        monkeypatch.setattr(site.app.state.belated.group_commit, "_append", held)
        paths = [f"/v1/episodes/{id}/feedback" for id in ids]
        first = site.start(site.asking("POST", paths[0], json=PLAYED))
        assert entered.wait(30)
        waiting = [site.start(site.asking("POST", path, json=PLAYED)) for path in paths[1:3]]
        wait_until(lambda: site.app.state.belated.group_commit.queued_events == 2)
        refused = site.post(paths[3], PLAYED)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        go.set()
        assert [wait().status_code for wait in (first, *waiting)] == [201] * 3
        assert count_rows(ledger).events["feedback"] == 3


def test_responses_have_security_headers(site: Site) -> None:
    for path in ("/healthz", "/v1/problems", "/nowhere"):
        headers = site.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers
