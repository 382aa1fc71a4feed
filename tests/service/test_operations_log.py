"""Log of changes of state, request ids, and the metrics for operators."""

import json
import logging
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from prometheus_client import generate_latest

from belated.cli.serve import build_server
from belated.ledger import Ledger
from belated.online.host import Host
from belated.service.operations.log import JsonFormatter, TextFormatter
from service.site import PLAYED, Site, wait_until


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Lines that a log in JSON contains, parsed."""
    found: list[dict[str, Any]] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(json.loads(self.format(record)))

    handler, logger = Collect(), logging.getLogger("belated")
    handler.setFormatter(JsonFormatter())
    access = logging.getLogger("belated.service.access")
    before = logger.level, access.level
    logger.addHandler(handler)
    logger.setLevel("INFO")
    access.setLevel("INFO")
    yield found
    logger.removeHandler(handler)
    logger.setLevel(before[0])
    access.setLevel(before[1])


def events(lines: list[dict[str, Any]]) -> list[str]:
    return [line["event"] for line in lines if "event" in line]


def test_an_outage_is_logged_once_with_its_end(site: Site, lines: list[dict[str, Any]]) -> None:
    site.define()
    id = site.open()
    ledger = site.ledger

    @sa.event.listens_for(ledger.store.writer, "begin")
    def lose(connection: sa.Connection) -> None:
        raise sa.exc.OperationalError("SELECT secret", {}, sqlite_full())

    for _ in range(5):
        assert site.post(f"/v1/episodes/{id}/feedback", PLAYED).status_code == 503
    sa.event.remove(ledger.store.writer, "begin", lose)
    assert site.post(f"/v1/episodes/{id}/feedback", PLAYED).status_code == 201
    assert events(lines) == ["store_unavailable", "store_available"]
    lost, back = [line for line in lines if "event" in line]
    assert (lost["operation"], lost["reason"], lost["code"]) == (
        "write",
        "disk full",
        "SQLITE_FULL",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lost["since"])
    assert (back["since"], back["errors"]) == (lost["since"], 5)
    assert "secret" not in json.dumps(lines)
    counted = 'belated_store_errors_total{operation="write",reason="disk full"} 5.0'
    assert counted in site.get("/metrics").text


@pytest.mark.parametrize("ttl_s", [0.0, 60.0])
def test_a_full_disk_is_reported_although_a_small_write_succeeds(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, ttl_s: float
) -> None:
    with Site(ledger, write_probe_ttl_s=ttl_s) as site:
        site.define()
        site.host.step()
        path = f"/v1/episodes/{site.open()}/feedback"

        def fail(*given: Any) -> Any:
            raise sa.exc.OperationalError("INSERT", {}, sqlite_full())

        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "append", fail)
            assert site.get("/readyz").status_code == 200
            assert site.post(path, PLAYED).status_code == 503
            for _ in range(2):
                answer = site.get("/readyz")
                assert answer.status_code == 503
                assert answer.json()["reasons"] == [
                    "The store cannot be written to: disk full (SQLITE_FULL)."
                ]
            patch.setattr("belated.service.routes.operations.DISK_FULL_S", 0.0)
            assert site.get("/readyz").status_code == 200
            assert site.post(path, PLAYED).status_code == 503
        assert site.post(path, PLAYED).status_code == 201
        assert site.get("/readyz").status_code == 200


def sqlite_full() -> Exception:
    """Return the error of SQLite if the disk is full."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        with pytest.raises(sa.exc.OperationalError) as raised:
            connection.exec_driver_sql("CREATE TABLE one (a)")
    assert isinstance(raised.value.orig, Exception)
    return raised.value.orig


def test_failed_reads_are_logged(
    site: Site, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(self: Ledger) -> Any:
        raise sa.exc.OperationalError("SELECT", {}, ConnectionError())

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "problems", lost)
        assert site.get("/v1/problems").status_code == 503
    assert site.get("/v1/problems").status_code == 200
    assert [(line["operation"], line["reason"]) for line in lines if "event" in line] == [
        ("read", "unreachable")
    ] * 2


def test_failed_polls_are_logged(ledger: Ledger, lines: list[dict[str, Any]]) -> None:
    lost = [True]

    class Broken(Host):
        def step(self) -> bool:
            if lost[0]:
                raise sa.exc.OperationalError("SELECT", {}, ConnectionError())
            return super().step()

    with Broken(ledger, interval=0.01):
        wait_until(lambda: "store_unavailable" in events(lines))
        lost[0] = False
        wait_until(lambda: "store_available" in events(lines))


def test_a_failed_problem_and_its_repair_are_logged(
    site: Site, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define()
    id = site.open()
    with monkeypatch.context() as patch:

        def broken(*given: Any) -> Any:
            raise KeyError("patient 17")

        patch.setattr("belated.online.host.Host._publish_if_changed", broken)
        site.host.step()
        site.host.step()
    assert events(lines) == ["problem_failed"]
    [line] = [line for line in lines if "event" in line]
    assert (line["problem"], line["level"]) == ("clinic", "error")
    assert line["message"].startswith("Problem clinic cannot be folded: KeyError")
    site.delete(f"/v1/episodes/{id}")
    site.host.step()
    assert events(lines) == ["problem_failed", "problem_retried"]
    assert "patient" not in json.dumps(lines)


def test_a_request_id_is_accepted_created_and_returned(site: Site) -> None:
    given = site.get("/healthz", headers={"x-request-id": "trace-17:a/b"})
    assert given.headers.get_list("x-request-id") == ["trace-17:a/b"]
    made = {site.get(path).headers["x-request-id"] for path in ("/healthz", "/nowhere", "/v1/x")}
    assert len(made) == 3
    for bad in ("", "a b", "x" * 129, 'quote"', "<script>", "ä"):
        answer = site.get("/healthz", headers={"x-request-id": bad.encode()})
        assert re.fullmatch(r"[0-9a-f]{12}-\d+", answer.headers["x-request-id"])


def test_log_lines_of_a_request_have_its_id(
    site: Site, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Ledger) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(Ledger, "problems", broken)
    site.get("/v1/problems", headers={"x-request-id": "trace-17"})
    assert len(lines) == 2  # the error, and the line of the request
    assert {line["request_id"] for line in lines} == {"trace-17"}
    assert (lines[1]["route"], lines[1]["status"]) == ("/v1/problems", 500)


def test_a_line_of_text_ends_with_the_request_id(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.setFormatter(TextFormatter())
    with caplog.at_level("INFO", "belated.service.access"):
        site.get("/healthz", headers={"x-request-id": "trace-17"})
    assert re.search(r"INFO GET /healthz 200 .* ms \[request trace-17\]$", caplog.text.strip())


def test_a_line_of_json_has_the_traceback() -> None:
    try:
        raise ValueError("wrong")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
        record = logging.LogRecord("x", logging.ERROR, "", 0, "line\nbreak", None, info)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert line["message"] == "line\nbreak"
    assert "ValueError: wrong" in line["exception"]
    assert line["request_id"] is None


def read_metric(site: Site, name: str) -> float:
    found = re.search(rf"^belated_{name} (.*)$", site.get("/metrics").text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])


def test_metrics_show_how_far_the_fold_is_behind(ledger: Ledger) -> None:
    with Site(ledger) as site:
        age, since = "oldest_unfolded_event_age_seconds", "seconds_since_last_fold"
        assert math.isnan(read_metric(site, age))
        assert math.isnan(read_metric(site, since))
        site.define()
        site.host.step()
        site.host.step()
        assert read_metric(site, age) == 0
        before = read_metric(site, since)
        site.open()
        first = read_metric(site, age)
        assert 0 < first < read_metric(site, age)
        assert read_metric(site, since) > before
        site.host.step()
        assert read_metric(site, age) == 0


def test_metrics_show_the_process_and_its_connections(ledger: Ledger) -> None:
    server = build_server(ledger, open=True, interval=1.0, shutdown_timeout_s=1)
    metrics = server.config.app.state.belated.metrics  # type: ignore[union-attr]
    with ledger.store.reading():
        text = generate_latest(metrics.registry).decode()
    assert "belated_connections 0.0" in text
    assert "belated_store_connections 1.0" in text
    if sys.platform == "linux":
        assert "process_resident_memory_bytes" in text
        assert "process_open_fds" in text
