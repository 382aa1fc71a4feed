"""Exports over HTTP."""

import json
from pathlib import Path

import duckdb

from service.site import PLAYED, Site


def played(site: Site) -> str:
    site.define()
    for _ in range(3):
        id = site.open(subject="patient-17")
        site.post(f"/v1/episodes/{id}/feedback", PLAYED)
    site.delete(f"/v1/episodes/{id}")
    site.define("shop")
    return id


def test_events_are_exported_in_order(site: Site) -> None:
    last = played(site)
    text = site.get("/v1/problems/clinic/events").text
    rows = [json.loads(line) for line in text.splitlines()]
    known = site.ledger.problem("clinic")
    assert known is not None
    events = list(site.ledger.events(known.id))
    assert [row["seq"] for row in rows] == [event.seq for event in events]
    assert [row["body"] for row in rows] == [event.body for event in events]
    assert [row["kind"] for row in rows if row["redacted"]] == ["feedback"]
    assert {row["episode"] for row in rows if row["redacted"]} == {last}
    assert "patient-17" not in text


def test_an_export_can_be_taken_in_pieces(site: Site) -> None:
    played(site)
    path = "/v1/problems/clinic/events"
    first = site.get(f"{path}?limit=4").text
    seq = json.loads(first.splitlines()[-1])["seq"]
    assert first + site.get(f"{path}?after={seq}").text == site.get(path).text
    for wrong in ("limit=0", "after=-1", "after=x", f"after={2**64}"):
        assert site.get(f"{path}?{wrong}").status_code == 422
    assert site.get("/v1/problems/nowhere/events").status_code == 404


def test_parquet_holds_the_same(site: Site, tmp_path: Path) -> None:
    played(site)
    answer = site.get("/v1/problems/clinic/events.parquet")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    file = tmp_path / "events.parquet"
    file.write_bytes(answer.content)
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT seq, kind, body FROM '{file}'").fetchall()
    lines = site.get("/v1/problems/clinic/events").text.splitlines()
    expected = [(row["seq"], row["kind"], row["body"]) for row in map(json.loads, lines)]
    assert [(seq, kind, body and json.loads(body)) for seq, kind, body in rows] == expected
    assert site.get("/v1/problems/nowhere/events.parquet").status_code == 404
