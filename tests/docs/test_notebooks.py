"""The notebooks run from the first cell to the last, and give the stored numbers again."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

from combinations import FULL

RUN = FULL or os.environ.get("BELATED_NOTEBOOKS") == "1"
DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def script() -> ModuleType:
    """Return docs/run_notebooks.py as a module."""
    spec = importlib.util.spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_notebooks = script()


def stored(name: str) -> Any:
    """Return the notebook `name` as it is stored."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def shown(notebook: Any) -> list[list[str]]:
    """Return the texts that each cell shows; a picture counts as its MIME type."""
    cells = []
    for cell in notebook.cells:
        texts = []
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", "")})
            texts.extend(kind if kind == "image/png" else data[kind] for kind in sorted(data))
        cells.append([text for text in texts if not text.startswith("<Figure size")])
    return cells


@pytest.mark.skipif(not RUN, reason="make test-notebooks")
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_gives_the_stored_outputs_again(name: str) -> None:
    before = stored(name)
    assert any(shown(before)), "make notebooks"
    assert shown(run_notebooks.execute(FOLDER / f"{name}.ipynb")) == shown(before)


def test_another_number_in_an_output_is_noticed() -> None:
    notebook = stored("late_rewards")
    changed = nbformat.from_dict(notebook)
    cell = next(cell for cell in changed.cells if "1020" in str(cell.get("outputs")))
    before = shown(notebook)
    cell.outputs[0].text = cell.outputs[0].text.replace("1020", "1021")
    assert shown(changed) != before


def test_there_is_a_notebook_for_each_thing_that_people_want_to_do() -> None:
    assert {
        "first_hour",
        "late_rewards",
        "reading_a_regret_curve",
        "reproduce_a_figure",
        "shop",
        "write_a_base",
    } <= set(NAMES)


def test_the_first_hour_draws_a_world_a_run_and_a_comparison() -> None:
    outputs = [text for texts in shown(stored("first_hour")) for text in texts]
    assert outputs.count("image/png") == 3
    assert any("ucrl2:scale=0.03" in text for text in outputs)


def test_the_first_hour_takes_less_than_25_lines() -> None:
    code = [cell["source"] for cell in stored("first_hour").cells if cell["cell_type"] == "code"]
    assert sum(bool(line.strip()) for source in code for line in source.splitlines()) < 25


def test_the_first_hour_compares_three_bases_under_two_delays() -> None:
    source = next(
        cell["source"] for cell in stored("first_hour").cells if "bases = " in cell.source
    )
    names: dict[str, Any] = {}
    exec(source.splitlines()[0], names)
    assert len({base.partition(":")[0] for base in names["bases"]}) == 3
    assert source.count("constant:0") == source.count("geometric:100") == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_holds_no_error_and_is_small(name: str) -> None:
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 200_000
    kinds = [o.output_type for cell in stored(name).cells for o in cell.get("outputs", ())]
    assert "error" not in kinds
