"""`belated lateness` on tables of episodes."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import belated as bl
from belated.cli.lateness import lateness

app = typer.Typer(rich_markup_mode=None)
app.command()(lateness)


def call(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def table(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    lines = ["opened,returned,return,arm,clinic"]
    for i in range(200):
        arm = "AB"[i % 2]
        back = i + rng.geometric(1 / (3 if arm == "A" else 9))
        lines.append(f"{i},{back if back < 200 else ''},{rng.random()},{arm},{i % 3}")
    path = folder / "episodes.csv"
    path.write_text("\n".join(lines))
    return path


def test_a_table_is_measured_by_its_columns(tmp_path: Path) -> None:
    path = table(tmp_path)
    code, out, _ = call(path, "--episodes")
    assert code == 0
    assert "In seconds" not in out
    assert "arm (log-rank): p < 0.0001" in out
    assert out.splitlines()[-1].startswith("Early returns are not representative")
    code, out, _ = call(path, "--episodes", "--by", "clinic", "--json")
    facts = json.loads(out)
    assert [test["about"] for test in facts["tests"]][:2] == ["clinic", "return"]
    rows = [dict(zip(("opened", "returned"), line.split(","), strict=False))
            for line in path.read_text().splitlines()[1:]]  # fmt: skip
    assert bl.lateness(rows, unit="episodes").episodes.facts() == facts["episodes"]


def test_the_time_at_which_a_table_was_read_is_an_option(tmp_path: Path) -> None:
    path = tmp_path / "episodes.csv"
    path.write_text("opened,returned\n2026-11-02,2026-11-05\n2026-11-03,\n2026-11-09,2026-11-20\n")
    rows = [
        {"opened": "2026-11-02", "returned": "2026-11-05"},
        {"opened": "2026-11-03", "returned": None},
        {"opened": "2026-11-09", "returned": "2026-11-20"},
    ]
    medians = {}
    for now in (None, "2026-11-12", "2026-12-31T12:00:00Z"):
        code, out, _ = call(path, "--json", *(("--now", now) if now else ()))
        assert code == 0
        assert json.loads(out) == bl.lateness(rows, now=now).facts()
        medians[now] = json.loads(out)["seconds"]["returned"]
    assert medians == {None: 2, "2026-11-12": 1, "2026-12-31T12:00:00Z": 2}
    code, _, err = call(path, "--now", "2026-11-04")
    assert code == 2
    assert "now must not be before an opening" in " ".join(err.replace("│", "").split())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", "", "The name must end in .csv, .json, .ndjson, .jsonl, .parquet, got 'a.txt'."),
        ("a.csv", "opened,back\n1,2\n", "Each episode needs the field 'returned'; the fields are"),
        ("a.csv", "", "Each episode needs the field 'opened'; the fields are none."),
        ("a.json", "{", "is not a valid .json file"),
        ("a.ndjson", '{"seq": 1, "kind": "opened"}', "Each exported event needs the field"),
        ("a.parquet", "7", "is not a valid .parquet file"),
        ("a.csv", "opened,returned\n5,3\n", "opened at 5 and returned at 3"),
    ],
)
def test_a_bad_file_gets_one_sentence(
    name: str, content: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    code, out, err = call(tmp_path / name)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.replace("│", "").split())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    code, _, err = call(tmp_path / "none.csv")
    assert code == 2
    assert "none.csv" in err
