"""Digest of the source files that compiled code is made from."""

import os
import re
from functools import cache
from hashlib import sha256
from pathlib import Path

NAME = __name__.partition(".")[0]  # name of this package
PACKAGE = os.path.dirname(os.path.dirname(__file__))
COMPILED = os.path.join(os.path.dirname(__file__), "")  # folder of the decorators
IMPORT = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.MULTILINE)
"""Regular expression that matches an import statement at module level.

A match has the groups (package, names, "") for `from package import names`, and ("", "", module)
for `import module`."""


@cache
def digest_sources(files: frozenset[str]) -> str:
    """Return one SHA-256 digest of the source `files` and of all modules that they depend on.

    Dependencies are found by following imports at module level: modules of this package, and, for
    a file of a user, modules in its folder or in the package that it belongs to. The search does
    not continue from a module of this package that defines no compiled functions, unless it is
    an `__init__.py` or one of `files`. Files that do not exist are ignored.
    """
    pending = set(files)
    found: set[str] = set()
    while pending:
        found |= pending
        followed = {file for file in pending if file in files or _is_followed(file)}
        pending = {path for file in followed for path in _read_source(file)[1]} - found
    return sha256("".join(sorted(_read_source(file)[0] for file in found)).encode()).hexdigest()


def _is_followed(file: str) -> bool:
    """Return whether `digest_sources` must also search the modules that `file` imports.

    This is not necessary for a module of this package that defines no compiled functions, that is,
    imports nothing in the folder `COMPILED`. An `__init__.py` is always searched.
    """
    return (
        not file.startswith(PACKAGE)
        or os.path.basename(file) == "__init__.py"
        or any(path.startswith(COMPILED) for path in (file, *_read_source(file)[1]))
    )


@cache
def _read_source(file: str) -> tuple[str, frozenset[str]]:
    """Return the SHA-256 of `file`, and the paths of the source files that it imports."""
    if not os.path.isfile(file):
        return "", frozenset()
    content = Path(file).read_bytes()
    imported: set[str | None] = set()
    for package, names, module in IMPORT.findall(content.decode()):
        # a name in a package is a module of its own, or comes from the package's __init__.py
        members = [f"{package}.{name}" for name in re.findall(r"\w+", names)]
        found = [_locate(member, file) or _locate(package, file) for member in members]
        imported.update(found or [_locate(module, file)])
    return sha256(content).hexdigest(), frozenset(filter(None, imported))


def _locate(module: str, importer: str) -> str | None:
    """Return the path of the source file of `module`, which the file `importer` imports.

    Modules of this package are found. If `importer` is not a file of this package, modules in its
    folder and in the package to which it belongs are found too. Returns None for other modules.
    """
    first, _, rest = module.lstrip(".").partition(".")
    if first == NAME:
        return _find_source(os.path.join(PACKAGE, *rest.split(".")))
    if importer.startswith(PACKAGE):
        return None
    folder = os.path.dirname(importer)
    while (found := _find_source(os.path.join(folder, first, *rest.split(".")))) is None:
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            return None
        folder = os.path.dirname(folder)
    return found


@cache
def _find_source(stem: str) -> str | None:
    """Return `stem`.py, or else `stem`/__init__.py; None if neither file exists.

    `stem` is the path of a module or a package, without suffix.
    """
    stem = stem.rstrip(os.sep)
    return next(filter(os.path.isfile, (f"{stem}.py", os.path.join(stem, "__init__.py"))), None)
