"""The digest of a file covers the files of the package that its compiled code is made from."""

import re
from pathlib import Path

import pytest

from belated.compiled import sources
from belated.compiled.sources import PACKAGE

COMPILED = {f"compiled/{path.name}" for path in (Path(PACKAGE) / "compiled").glob("*.py")}


def test_every_import_in_the_package_is_absolute() -> None:
    """Relative imports are not followed by `digest_sources`; the client compiles nothing."""
    package = Path(PACKAGE)
    relative = re.compile(r"^\s*from \.", re.MULTILINE)
    found = {path for path in package.rglob("*.py") if relative.search(path.read_text())}
    assert {path.parent for path in found} == {package / "client"}


def read_by_digest(path: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the files of the package that the digest of one of them covers."""
    read: list[str] = []
    original = sources._read_source

    def recorded(file: str) -> tuple[str, frozenset[str]]:
        read.append(file)
        return original(file)

    monkeypatch.setattr(sources, "_read_source", recorded)
    file = str(Path(PACKAGE) / path)
    sources.digest_sources.__wrapped__(frozenset({file}))
    return {Path(file).relative_to(PACKAGE).as_posix() for file in read}


def test_the_digest_of_the_engine_covers_the_kernels_it_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = read_by_digest("simulation/engine.py", monkeypatch)
    assert COMPILED | {"randomness.py", "exact/values.py", "learner/counts.py"} <= names
    assert not {"learner/bases/ucrl2.py", "__init__.py"} & names


def test_the_digest_of_a_base_covers_the_functions_its_backup_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (Path(PACKAGE) / "learner" / "bases" / "ucbvi_bf.py").read_text()
    assert "belated.compiled" not in text
    names = read_by_digest("learner/bases/ucbvi_bf.py", monkeypatch)
    assert COMPILED | {"learner/backup.py", "learner/backup_call.py"} <= names
