"""Docstrings: a first line that is clear at first reading, and a complete contract."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "src" / "belated"
QUESTION = re.compile(r"(What|Who|Where|How|When)\b")
RETURNS = re.compile(r"\b(return|yield)", re.IGNORECASE)
NO_RESULT = ("None", "NoReturn", "Never", "Iterator[None]")
"""Return annotations of functions and context managers that give their caller nothing."""

MIN_SHARE = 0.9
"""Share of public functions that must name all parameters and say what they return."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef | ast.Module


class PublicFunction(NamedTuple):
    """Public function or method, with the place at which it is defined."""

    node: Function
    place: str  # "path:line name"


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the path and the syntax tree of each module of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of the docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            for previous, statement in zip([None, *node.body], node.body, strict=False):
                if (
                    isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Constant)
                    and isinstance(statement.value.value, str)
                    and (previous is None or isinstance(previous, ast.Assign | ast.AnnAssign))
                ):
                    yield statement.lineno, statement.value.value.strip()


def has_decorator(node: Function, *names: str) -> bool:
    """Return whether one of the decorators of `node` is one of `names`, or ends with one."""
    plain = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return any(ast.unparse(item).rpartition(".")[2] in names for item in plain)


def is_exempt(node: Function, path: Path) -> bool:
    """Return whether the docstring of `node` is shown to users, who call no function.

    These are commands of Typer and routes of FastAPI; they hold plain prose.
    """
    folder = path.relative_to(PACKAGE).parts
    if folder[0] == "cli":
        return has_decorator(node, "command", "callback", "help_from_docstring")
    return folder[:2] == ("service", "routes")


def implements_interface(node: Function, owner: ast.AST) -> bool:
    """Return whether `node`, a member of `owner`, has parameters that are documented elsewhere."""
    return isinstance(owner, ast.ClassDef) or has_decorator(node, "backup")


def public_functions() -> list[PublicFunction]:
    """Return the public functions and methods that must state their contract.

    Properties are left out, and methods and backups without a docstring: a base class and
    `belated.backup` document them.
    """
    found = []
    for path, tree in modules():
        waiting: list[tuple[ast.Module | ast.ClassDef, str]] = [(tree, "")]
        while waiting:
            owner, prefix = waiting.pop()
            for node in owner.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    waiting.append((node, f"{prefix}{node.name}."))
                if (
                    not isinstance(node, Function)
                    or node.name.startswith("_")
                    or has_decorator(node, "property", "cached_property", "setter", "overload")
                    or is_exempt(node, path)
                    or (implements_interface(node, owner) and ast.get_docstring(node) is None)
                ):
                    continue
                place = f"{path.relative_to(PACKAGE)}:{node.lineno} {prefix}{node.name}"
                found.append(PublicFunction(node, place))
    return found


def missing_facts(function: Function) -> list[str]:
    """Return the parameters that the docstring of `function` does not name, and "Returns"."""
    text = ast.get_docstring(function) or ""
    arguments = function.args
    names = [
        argument.arg
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        if argument.arg not in ("self", "cls") and not argument.arg.startswith("_")
    ]
    # A single letter may be a word of the text, such as "a", and needs backticks or an entry.
    patterns = {
        name: rf"\b{name}\b"
        if len(name) > 1
        else rf"`[^`]*\b{name}\b[^`]*`|^(\w+, )*{name}(, \w+)*( : .*)?$"
        for name in names
    }
    missing = [name for name in names if not re.search(patterns[name], text, re.MULTILINE)]
    returned = ast.unparse(function.returns) if function.returns else "None"
    if returned not in NO_RESULT and not RETURNS.search(text):
        missing.append("Returns")
    return missing


def test_no_docstring_begins_with_a_question_word() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} {text.splitlines()[0]}"
        for path, tree in modules()
        for line, text in docstrings(tree)
        if QUESTION.match(text)
    ]
    assert wrong == [], "\n".join(["These docstrings are questions:", *wrong])


def test_public_functions_name_their_parameters_and_say_what_they_return() -> None:
    functions = public_functions()
    offenders = {
        function.place: missing
        for function in functions
        if (missing := missing_facts(function.node))
    }
    lines = [f"{place}: {', '.join(missing)}" for place, missing in offenders.items()]
    share = 1 - len(offenders) / len(functions)
    print(f"{share:.1%} of {len(functions)} are complete; the others lack:", *lines, sep="\n")
    assert share >= MIN_SHARE, f"Only {share:.1%} of {len(functions)} are complete."
