"""Exports over HTTP."""

import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from starlette.requests import ClientDisconnect

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


def test_an_export_can_be_continued(site: Site) -> None:
    played(site)
    path = "/v1/problems/clinic/events"
    first = site.get(f"{path}?limit=4").text
    seq = json.loads(first.splitlines()[-1])["seq"]
    assert first + site.get(f"{path}?after={seq}").text == site.get(path).text
    for wrong in ("limit=0", "after=-1", "after=x", f"after={2**64}"):
        assert site.get(f"{path}?{wrong}").status_code == 422
    assert site.get("/v1/problems/nowhere/events").status_code == 404


@pytest.mark.parametrize(
    ("path", "field", "expected"),
    [
        ("clinic/events?after=0&format=csv", "format", "its parameters are after, limit."),
        ("clinic/quarantine?before=3", "before", "its parameters are after, limit."),
        ("clinic/events.parquet?after=1", "after", "it has none."),
        ("clinic/policy?version=1", "version", "it has none."),
    ],
)
def test_an_unknown_query_parameter_is_rejected(
    site: Site, path: str, field: str, expected: str
) -> None:
    site.define()
    answer = site.get(f"/v1/problems/{path}")
    assert answer.status_code == 422
    message = f"'{field}' is not a query parameter of this route; {expected}"
    assert answer.json() == {"error": "refused", "message": message, "field": field}


def test_parquet_holds_the_same_events(site: Site, tmp_path: Path) -> None:
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of temporary files, with special characters in its name."""
    made = tmp_path / "Ann's [own]"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


def test_parquet_is_written_in_a_folder_of_any_name(site: Site, folder: Path) -> None:
    played(site)
    answer = site.get("/v1/problems/clinic/events.parquet")
    assert answer.status_code == 200
    assert answer.content.startswith(b"PAR1")
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["content-disposition"] == 'attachment; filename="clinic.parquet"'


@pytest.mark.parametrize("asked", ["bytes=abc", "bytes=99999999-", "bytes=0-3", "bytes=0-1,4-5"])
def test_parquet_ignores_range_headers(site: Site, folder: Path, asked: str) -> None:
    played(site)
    path = "/v1/problems/clinic/events.parquet"
    answer = site.get(path, headers={"range": asked})
    assert (answer.status_code, answer.content) == (200, site.get(path).content)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["http.response.start", "http.response.body"])
def test_no_file_remains_when_the_client_disconnects(site: Site, folder: Path, kind: str) -> None:
    played(site)
    seen: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        seen.append(message["type"])
        assert list(folder.iterdir()) == []  # even while the file is sent
        if message["type"] == kind:
            raise OSError("gone")

    path = "/v1/problems/clinic/events.parquet"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    with pytest.raises(ClientDisconnect):
        site.run(site.app(scope, receive, send))
    assert seen[-1] == kind
    assert list(folder.iterdir()) == []


def test_no_file_remains_when_writing_parquet_fails(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(site)

    def full(*given: object) -> None:
        assert list(folder.iterdir()) != []
        raise OSError("No space left on device")

    monkeypatch.setattr("belated.ledger.export.write_parquet", full)
    assert site.get("/v1/problems/clinic/events.parquet").status_code >= 500
    assert list(folder.iterdir()) == []
