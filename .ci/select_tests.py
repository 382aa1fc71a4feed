"""Print the paths that `make check` tests: a fast core, and the tests of what changed.

A changed module selects its doctests and the test file of the same name, or the folder of its
package if there is none; a changed test file selects itself, and a changed helper of tests its
folder. Files that take long are left to `make test`.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]

CORE = (
    "tests/test_episode.py",
    "tests/test_randomness.py",
    "tests/checks/test_law.py",
    "tests/delays/test_laws.py",
    "tests/exact/test_values.py",
    "tests/gym/test_environment.py",
    "tests/learner/test_counts.py",
    "tests/learner/test_ubev_ucbvi.py",
    "tests/learner/test_ucrl2.py",
    "tests/mdp/test_model.py",
    "tests/papers/test_published.py",
    "tests/service/test_episodes.py",
    "tests/simulation/test_many.py",
    "tests/sweep/test_cell.py",
    "tests/theory/test_alpha.py",
    "tests/equivalence/test_definition.py::test_every_way_to_run_does_what_is_defined",
)
"""Tests that run every time: a second or two for each package."""

SLOW = frozenset(
    {
        "tests/checks/test_base.py",
        "tests/checks/test_world.py",
        "tests/equivalence/test_definition.py",
        "tests/equivalence/test_engines.py",
        "tests/learner/test_every_base.py",
        "tests/learner/test_partial_feedback.py",
        "tests/service/test_openapi.py",
    }
)
"""Test files that take more than ten seconds; they are selected only if they changed."""


def changed_files(base: str, root: Path = ROOT) -> list[str]:
    """Return the files in `root` that differ from the merge base with a branch, or are untracked.

    The branch is `base` or, in a clone that has no such branch, `base` of the remote `origin`. Exit
    with a message if there is neither.
    """
    for branch in (base, f"origin/{base}"):
        if merge_base := _git(root, "merge-base", "HEAD", branch):
            changed = _git(root, "diff", "--name-only", merge_base[0])
            return changed + _git(root, "ls-files", "--others", "--exclude-standard")
    sys.exit(f"branch {base} not found; make check BASE=... names the branch to compare with")


def _git(root: Path, *words: str) -> list[str]:
    """Return the lines that a git command prints in `root`; none if it fails."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def select(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the core and the tests of the files in `changed`, as paths relative to `root`."""
    selected = dict.fromkeys(CORE)
    for file in changed:
        path = Path(file)
        if path.suffix != ".py" or not (root / path).is_file() or "browser" in path.parts:
            continue
        if path.is_relative_to("src/belated"):
            selected[file] = None  # its doctests
            selected.update(dict.fromkeys(tests_of(path.relative_to("src/belated"), root)))
        elif path.parts[0] == "tests" and path.name.startswith("test_"):
            selected[file] = None
        elif path.parts[0] == "tests" and len(path.parts) > 2:
            selected.update(dict.fromkeys(quick_tests(path.parent, root)))
    files = set(selected)
    return [name for name in selected if "::" not in name or name.partition("::")[0] not in files]


def tests_of(module: Path, root: Path) -> list[str]:
    """Return the test files of `module`, a path relative to the package."""
    folder = Path("tests") / module.parent
    own = folder / f"test_{module.name}"
    if (root / own).is_file():
        return [own.as_posix()]
    while not (root / folder).is_dir():
        folder = folder.parent  # a sub-package is tested in the folder of its package
    return quick_tests(folder, root) if folder != Path("tests") else []


def quick_tests(folder: Path, root: Path) -> list[str]:
    """Return the test files in `folder`, without the slow ones."""
    found = (path.relative_to(root).as_posix() for path in (root / folder).glob("test_*.py"))
    return sorted(set(found) - SLOW)


if __name__ == "__main__":
    print("\n".join(select(changed_files(sys.argv[1] if sys.argv[1:] else "main"))))
