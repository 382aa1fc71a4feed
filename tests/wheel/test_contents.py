"""Contents of the built distributions; see `make test-wheel`."""

import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from installations import built, needs_dist

ROOT = Path(__file__).parents[2]
MAX_CLIENT_BYTES = 1_000_000
CLIENT = {
    f"belated_client/{path.name}"
    for path in (ROOT / "src" / "belated" / "client").iterdir()
    if path.is_file()
}
"""Files of the package belated_client."""

pytestmark = needs_dist


def names_in(wheel: Path) -> set[str]:
    """Return the names of all files in `wheel` that are not about the wheel itself."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if ".dist-info/" not in name}


def metadata_of(wheel: Path) -> dict[str, list[str]]:
    """Return the metadata of `wheel`: the values of each field."""
    archive = zipfile.ZipFile(wheel)
    (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
    message = Parser().parsestr(archive.read(name).decode())
    return {field: message.get_all(field, []) for field in message}


def test_the_wheel_has_every_file_of_the_package_and_no_others() -> None:
    source = ROOT / "src"
    wanted = {
        str(path.relative_to(source))
        for path in (source / "belated").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert names_in(built("belated-*.whl")) == wanted


@pytest.mark.parametrize(
    "name",
    [
        "belated/__init__.pyi",
        "belated/py.typed",
        "belated/studies/late-rewards.toml",
        "belated/studies/bases-under-delay.json",
        "belated/ledger/migrations/versions/v0001_ledger.py",
        "belated/service/dashboard/page.html",
        "belated/figures/templates/report.html",
    ],
)
def test_the_wheel_and_the_sdist_have_files_that_are_not_imported(name: str) -> None:
    assert name in names_in(built("belated-*.whl"))
    with tarfile.open(built("belated-*.tar.gz")) as sdist:
        assert [each for each in sdist.getnames() if each.endswith(f"/src/{name}")]


def test_the_client_has_the_modules_of_the_package_and_no_dependencies() -> None:
    wheel, sdist = built("belated_client-*.whl"), built("belated_client-*.tar.gz")
    assert names_in(wheel) == CLIENT
    assert {"belated_client/client.py", "belated_client/py.typed"} <= CLIENT
    assert "Requires-Dist" not in metadata_of(wheel)
    assert metadata_of(wheel)["Requires-Python"] == [">=3.9"]
    assert wheel.stat().st_size < MAX_CLIENT_BYTES
    assert sdist.stat().st_size < MAX_CLIENT_BYTES
