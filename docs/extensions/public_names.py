"""Sphinx extension: links to the pages of public names.

Docstrings put code into single backticks, as Markdown does. A public name becomes a link to its
page. Annotations name a class by the module that defines it, such as
`belated.learner.learner.Learner`; they are resolved to its public name, `belated.Learner`.
"""

import re
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.addnodes import desc_annotation, desc_signature, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer

PACKAGES = (
    "belated",
    "belated.delays",
    "belated.theory",
    "belated.checks",
    "belated.callbacks",
    "belated.gym",
    "belated.client",
    "belated.service",
)
"""Packages whose `__all__` is public, in the order in which a name of an object is chosen."""

HIDDEN_COLON = "\ue000"
"""Character that stands for a colon while napoleon reads a docstring."""

ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], "
    r"~?(?:numpy\.)?dtype\[~?(?:numpy\.)?(\w+)\]\]"
)
"""Type of an array, as Sphinx writes it."""

ARRAY_LIKE = re.compile(
    r"[~\w.]*_Buffer \| .*?_NestedSequence\[[~\w.]*complex \| [~\w.]*bytes \| [~\w.]*str\]"
)
"""The union that NumPy calls ArrayLike, as Sphinx writes it."""

CODE = re.compile(r"(?<![`:\w])`(?!`)([^`<>]+?)`(?![`_\w])")
"""Text in single backticks, without roles and links."""


@cache
def public_names() -> dict[str, Any]:
    """Return the public objects by their qualified names; each object has one name."""
    found: dict[str, Any] = {}
    seen = set()
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if not isinstance(item, ModuleType) and id(item) not in seen:
                seen.add(id(item))
                found[f"{package}.{name}"] = item
    return found


@cache
def short_names() -> dict[str, str]:
    """Return the qualified names of public objects by the texts that docstrings use for them."""
    found = {}
    for name in public_names():
        package, _, last = name.rpartition(".")
        if package == "belated":
            found[last] = name
        found[name.removeprefix("belated.")] = name
        found[name.replace("belated", "bl", 1)] = name
        found[name] = name
    return found


def link_code(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Replace single backticks in the docstring `lines` by links to public names, or by code."""

    def replace(found: re.Match[str]) -> str:
        text = found[1]
        target = short_names().get(text)
        return f":py:obj:`{text} <{target}>`" if target and target != name else f"``{text}``"

    lines[:] = [line if ">>>" in line else CODE.sub(replace, line) for line in lines]


def keep_colons(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Hide colons in the first of `lines` from napoleon, which would read "type: description".

    Numpy-style docstrings of attributes have no type; `restore_colons` undoes it afterwards.
    """
    if what in ("attribute", "data", "property") and lines:
        lines[0] = lines[0].replace(": ", f"{HIDDEN_COLON} ")


def restore_colons(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Undo `keep_colons` in `lines`."""
    lines[:] = [line.replace(HIDDEN_COLON, ":") for line in lines]


def describe_constant(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Replace the docstring of the type of a public constant in `lines` by that of the constant."""
    if what != "data":
        return
    package, _, last = name.rpartition(".")
    for module in sorted(found for found in sys.modules if found.startswith(f"{package}.")):
        if vars(sys.modules[module]).get(last) is item:
            docs = ModuleAnalyzer.for_module(module).find_attr_docs()
            if ("", last) in docs:
                lines[:] = docs["", last]


def shorten_arrays(
    app: Sphinx,
    what: str,
    name: str,
    item: Any,
    options: Any,
    signature: str | None,
    result: str | None,
) -> tuple[str, str | None] | None:
    """Return `signature` and `result` with the types of arrays as in the source.

    None if there is no signature.
    """
    if signature is None:
        return None
    return shorten(signature), result and shorten(result)


def shorten_annotations(app: Sphinx, doctree: nodes.document) -> None:
    """Shorten the types of arrays in the annotations of attributes in `doctree`."""
    for node in doctree.findall(desc_annotation):
        text = node.astext()
        if shorten(text) != text:
            node.children = []
            node += nodes.Text(shorten(text))


def add_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Add an anchor with the name in `belated` to each name of another package in `doctree`.

    A page of source code links to all names that it defines as names of one package, that of the
    first one.
    """
    for node in doctree.findall(desc_signature):
        if str(node.get("module")).startswith("belated."):
            node["ids"].append(f"belated.{node['fullname']}")


def shorten(text: str) -> str:
    """Return `text` with the types of arrays as they are written in the source.

    >>> shorten("ndarray[tuple[Any, ...], dtype[int64]]")
    'NDArray[int64]'
    """
    return ARRAY_LIKE.sub("ArrayLike", ARRAY.sub(r"NDArray[\1]", text))


def public_name(qualified: str) -> str | None:
    """Return the public name of the object with the name `qualified`; None if it has none."""
    module, _, name = qualified.rpartition(".")
    try:
        item = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        return None
    return next((public for public, found in public_names().items() if found is item), None)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """Return a link from `node`, with the text `content`, to the page of the object's name.

    A name of the package that is not public is shown without a link; None for all others.
    """
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    name = short_names().get(target) or public_name(target)
    if name is None:
        return content if is_internal(target) else None
    domain = env.domains["py"]
    text = nodes.literal("", name.rpartition(".")[2])
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, "obj", name, node, text if target != name else content
    )


def is_internal(target: str) -> bool:
    """Return whether `target` is a type of the package that is named but not public."""
    module, _, name = target.rpartition(".")
    try:
        return hasattr(import_module(module), name)
    except (ImportError, ValueError):
        return False


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the functions of this module with `app`; return the properties of the extension."""
    app.connect("autodoc-process-docstring", link_code, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", describe_constant, priority=300)
    app.connect("autodoc-process-docstring", keep_colons, priority=410)
    app.connect("autodoc-process-docstring", restore_colons, priority=600)
    app.connect("autodoc-process-signature", shorten_arrays)
    app.connect("doctree-read", shorten_annotations)
    app.connect("doctree-read", add_anchors)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
