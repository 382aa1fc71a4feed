"""The pictures of the docs are those that `make pictures` would draw."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    """Return docs/pictures.py as a module."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


pictures = script()


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_shows_what_it_would_show_if_it_were_drawn_now(name: str) -> None:
    path = pictures.FOLDER / f"{name}.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert pictures.stored_digest(path) == pictures.PICTURES[name].digest(), "make pictures"


def test_other_data_would_have_another_digest() -> None:
    delays = pictures.PICTURES["delays"]
    other = pictures.Picture(delays.size, lambda: {"constant:100": [1.0]}, delays.draw)
    assert other.digest() != delays.digest()


def test_a_digest_is_found_in_a_file_to_which_it_was_added(tmp_path: Path) -> None:
    png = (pictures.FOLDER / "late-rewards.png").read_bytes()
    path = tmp_path / "copy.png"
    path.write_bytes(png)
    assert pictures.stored_digest(path) == ""
    path.write_bytes(pictures.with_digest(png, "0123456789abcdef"))
    assert pictures.stored_digest(path) == "0123456789abcdef"


def test_every_picture_on_a_page_is_there() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for name in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(), re.DOTALL):
            assert (page.parent / name).is_file(), (page.name, name)
