"""`make bench-install`: measure fresh installations, and write docs/deployment.md.

The argument is a folder with built wheels. Each installation is a new virtual environment. Sizes
are sums over the files in its site-packages, with the bytecode that pip writes, without pip.
"""

import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from statistics import median

from report import Report, Section, Target, format_markdown, print_report, write_page

PAGE = Path(__file__).parent.parent / "docs" / "deployment.md"

INSTALLATIONS = (
    "belated-client",
    "belated",
    "belated[figures]",
    "belated[sweep]",
    "belated[report]",
    "belated[service]",
    "belated[all]",
)
"""Arguments of `pip install`."""

MAX_MB = {"belated": 500, "belated-client": 1}
MAX_IMPORT_S = 0.1
LARGEST = 6
"""Number of packages of the core that are listed by size."""
REPEATS = 15
"""Number of processes in which an import is timed."""


def main() -> None:
    """Measure all installations, print the tables and write the page."""
    (dist,) = map(Path, sys.argv[1:])
    report = Report()
    rows: list[list[str]] = []
    note = ""
    for argument in INSTALLATIONS:
        sizes, seconds = measure(argument, dist)
        size = sum(sizes.values())
        rows.append([f"`{argument}`", format_mb(size), f"{1000 * seconds:.0f}"])
        if argument == "belated":
            ordered = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
            listed = ", ".join(f"{name} {format_mb(sizes[name])}" for name in ordered)
            note = (
                f"The largest packages of `belated`, in MB: {listed}. Times of imports are medians "
                f"of {REPEATS} processes, without the start of Python."
            )
        if argument in MAX_MB:
            text = f"`{argument}` takes less than {MAX_MB[argument]} MB"
            met = size < 1e6 * MAX_MB[argument]
            report.targets.append(Target(text, f"{format_mb(size)} MB", met))
        if argument == "belated":
            text = f"`{argument}` is imported in less than {MAX_IMPORT_S} s"
            report.targets.append(Target(text, f"{seconds:.3f} s", seconds < MAX_IMPORT_S))
    columns = ["pip install", "MB", "import, ms"]
    report.sections.append(Section("Size and import time", columns, rows, note))
    heading = f"{date.today():%-d %B %Y}, {platform.system()}, Python {platform.python_version()}."
    print_report(report, heading)
    write_page(PAGE, format_markdown(report, heading), mark="installations")


def measure(argument: str, dist: Path) -> tuple[dict[str, int], float]:
    """Install a distribution of the folder `dist`, and measure it.

    Parameters
    ----------
    argument : str
        One of `INSTALLATIONS`.
    dist : Path
        Folder with the wheels.

    Returns
    -------
    tuple
        Bytes by package, and seconds of its import.
    """
    name, bracket, extras = argument.replace("-", "_").partition("[")
    (wheel,) = dist.resolve().glob(f"{name}-*.whl")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = Path(folder) / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        subprocess.run([*pip, f"{wheel}{bracket}{extras}"], check=True)
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        return package_sizes(packages), import_seconds(python, name)


def package_sizes(packages: Path) -> dict[str, int]:
    """Return the bytes of each package in the folder `packages`.

    Shared libraries of a package are in a folder with the suffix .libs, which counts for it.
    """
    sizes: dict[str, int] = {}
    for path in packages.rglob("*"):
        if path.is_file():
            name = path.relative_to(packages).parts[0].removesuffix(".libs")
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    return sizes


def import_seconds(python: Path, package: str) -> float:
    """Return the median time of `import package` in new processes, after a first import."""
    code = (
        "import time; start = time.perf_counter(); "
        f"import {package}; print(time.perf_counter() - start)"
    )
    times = [
        float(subprocess.run([python, "-I", "-c", code], capture_output=True, check=True).stdout)
        for _ in range(REPEATS + 1)
    ]
    return median(times[1:])


def format_mb(size: int) -> str:
    """Return `size`, in bytes, as text in MB."""
    return f"{size / 1e6:.0f}" if size >= 1e7 else f"{size / 1e6:.2g}"


if __name__ == "__main__":
    main()
