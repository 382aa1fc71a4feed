"""The notebooks run from the first cell to the last, and show what they promise."""

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[1] / "examples"
TIMEOUT_S = 600


def execute(name: str) -> Any:
    """Run the notebook `name` in a new kernel and return it with its outputs."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(FOLDER)}}
    )
    return client.execute()


@pytest.fixture(scope="module")
def first_hour() -> Any:
    return execute("first_hour")


def outputs(notebook: Any, kind: str) -> list[str]:
    """Return the outputs of the MIME type `kind`, in order."""
    return [
        output["data"][kind]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]


def test_the_first_hour_draws_a_world_a_run_and_a_comparison(first_hour: Any) -> None:
    assert len(outputs(first_hour, "image/png")) == 3
    assert any("ucrl2:scale=0.03" in html for html in outputs(first_hour, "text/html"))


def test_the_first_hour_takes_less_than_25_lines(first_hour: Any) -> None:
    code = [cell["source"] for cell in first_hour.cells if cell["cell_type"] == "code"]
    assert sum(bool(line.strip()) for source in code for line in source.splitlines()) < 25


def test_the_first_hour_compares_three_bases_under_two_delays(first_hour: Any) -> None:
    source = next(cell["source"] for cell in first_hour.cells if "bases = " in cell["source"])
    names: dict[str, Any] = {}
    exec(source.splitlines()[0], names)
    assert len({base.partition(":")[0] for base in names["bases"]}) == 3
    assert source.count("constant:0") == source.count("geometric:100") == 1


def test_notebooks_are_stored_without_outputs() -> None:
    for path in FOLDER.glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells), path
