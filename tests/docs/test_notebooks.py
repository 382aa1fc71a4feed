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


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_holds_no_error_and_is_small(name: str) -> None:
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 200_000
    kinds = [o.output_type for cell in stored(name).cells for o in cell.get("outputs", ())]
    assert "error" not in kinds
