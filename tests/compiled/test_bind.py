"""Templates bound to other globals, digests of what is bound, and kernels as plain Python."""

import enum
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from belated.compiled import JIT, bind, digest_of, inlined, interpret, kernel
from belated.compiled.bind import DigestError, is_cacheable

pytestmark = pytest.mark.plain


def step(x):
    """Raise TypeError: `bind` replaces this function."""
    raise TypeError("step must be bound.")


def twice(x):
    """Call the global that `bind` replaces."""
    return step(step(x))


twice.__module__ = "belated.compiled.bind"  # functions of users are cached only as a part of these


def function_of(source: str, **names: Any) -> FunctionType:
    """Return the function `f` that `source` defines in a module of a user with some `names`."""
    module: dict[str, Any] = {"__name__": "user", **names}
    exec(source, module)
    found: FunctionType = module["f"]
    return found


def add(amount: float) -> FunctionType:
    """Return a closure."""

    def closure(x):
        return x + amount

    return closure


def test_a_bound_function_calls_what_is_bound_and_leaves_the_template_alone() -> None:
    assert bind(twice, step=add(1))(0) == 2
    assert bind(twice, step=add(50))(1) == 101
    with pytest.raises(TypeError, match="must be bound"):
        twice(1)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_bound_functions_are_compiled_with_what_is_bound() -> None:
    results = [kernel(bind(twice, step=inlined(add(amount))))(1) for amount in (1, 50)]
    assert results == [3, 101]


def test_the_name_of_a_bound_function_has_the_digest_of_what_is_bound() -> None:
    names = [bind(twice, step=add(amount)).__qualname__ for amount in (1, 50, 1)]
    assert names[0] == names[2] != names[1]
    assert all(name.startswith("twice_") for name in names)
    assert is_cacheable(bind(twice, step=add(1)))


# Digests


def module(name: str, **attributes: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(attributes)
    return made


class One(enum.IntEnum):
    """An enumeration, of which users may write another with the same names."""

    A = 1


Two = enum.IntEnum("One", {"A": 2}, module=One.__module__)


class Pair(NamedTuple):
    """Two numbers."""

    a: float
    b: float


GLOBAL = "def f(x): return g"
ATTRIBUTE = "def f(x): return x + g.value"
INNER = "def g(x): return x + value\ndef f(x): return g(x)"
NESTED = "def f(x): return [y + g for y in (x,)]"
DIFFERENT: dict[str, tuple[Any, Any]] = {
    "number": (1, 2),
    "type of a number": (1, 1.0),
    "sign of zero": (0.0, -0.0),
    "width": (np.int32(1), np.int64(1)),
    "string": ("a", "b"),
    "array": (np.array([1, 2]), np.array([1, 3])),
    "type of an array": (np.zeros(2, np.int32), np.zeros(1, np.int64)),
    "shape": (np.zeros((2, 1)), np.zeros((1, 2))),
    "tuple": ((1, (2, 3)), (1, (2, 4))),
    "named tuple": (Pair(1, 2), (1, 2)),
    "mapping": ({"a": 1}, {"a": 2}),
    "code": (function_of("def f(x): return x + y"), function_of("def f(x): return x - y")),
    "constant": (function_of("def f(x): return x + 1"), function_of("def f(x): return x + 2")),
    "default": (function_of("def f(x=1): return x"), function_of("def f(x=2): return x")),
    "keyword": (function_of("def f(*, x=1): return x"), function_of("def f(*, x=2): return x")),
    "closure": (add(1), add(2)),
    "global": (function_of(GLOBAL, g=1), function_of(GLOBAL, g=2)),
    "global of a callee": (function_of(INNER, value=1), function_of(INNER, value=2)),
    "global of nested code": (function_of(NESTED, g=1), function_of(NESTED, g=2)),
    "attribute of a module": tuple(
        function_of(ATTRIBUTE, g=module("settings", value=value)) for value in (1, 2)
    ),
    "attribute of a module of a module": tuple(
        function_of(
            "def f(x): return g.inner.value",
            g=module("package", inner=module("package.inner", value=value)),
        )
        for value in (1, 2)
    ),
    "module": (function_of(GLOBAL, g=math), function_of(GLOBAL, g=np)),
    "builtin": (function_of(GLOBAL, g=math.floor), function_of(GLOBAL, g=np.floor)),
    "attribute of a module in a closure": tuple(
        (lambda settings: lambda x: x + settings.value)(module("settings", value=value))
        for value in (1, 2)
    ),
    "member of an enumeration": (
        function_of("def f(x): return g.A", g=One),
        function_of("def f(x): return g.A", g=Two),
    ),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_different_values_have_different_digests(pair: tuple[Any, Any]) -> None:
    assert digest_of(pair[0]) == digest_of(pair[0])
    assert digest_of(pair[0]) != digest_of(pair[1])


def test_equal_functions_of_two_modules_have_one_digest() -> None:
    again = {
        name: [function_of(source, g=module("settings", value=1), value=1) for _ in range(2)]
        for name, source in (("attribute", ATTRIBUTE), ("inner", INNER))
    }
    for one, other in again.values():
        assert digest_of(one) == digest_of(other)
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of(kernel(add(1))) == digest_of(add(1))


def test_a_function_may_call_itself() -> None:
    source = "def f(x): return f(x - 1) if x > 0 else g"
    assert digest_of(function_of(source, g=1)) != digest_of(function_of(source, g=2))


@pytest.mark.parametrize("function", [np.sum, np.argmax, math.sqrt, np.exp, max, len])
def test_functions_of_libraries_have_digests(function: Any) -> None:
    digests = {
        digest_of(function),
        digest_of(function_of(GLOBAL, g=function)),
        digest_of(function_of("def f(x): return g.sum(x) + g.linalg.norm(x)", g=np)),
    }
    assert len(digests) == 3


@pytest.mark.parametrize("value", [object(), np.array([None])], ids=["object", "array"])
def test_code_that_contains_a_value_without_a_digest_is_not_cached(value: Any) -> None:
    uses = function_of("def f(x): return x + g", g=value)
    with pytest.raises(DigestError, match="has no digest"):
        digest_of(uses)
    bound = bind(twice, step=uses)
    assert not is_cacheable(bound)
    # nor is what such a function is bound to
    assert not is_cacheable(bind(twice, step=bound))


def test_a_plain_function_may_refer_to_anything() -> None:
    uses = function_of("def f(x): return x + g[None]", g={None: 1, "a": 2, 3: 4})
    assert bind(twice, step=uses)(1) == 3


@pytest.mark.parametrize("function", [add(1), step])
def test_functions_of_users_are_not_cached_by_their_names(function: Callable[..., Any]) -> None:
    assert not is_cacheable(function)


USER = """
import sys
from belated.compiled import bind, budget, inlined, kernel

def step(x):
    raise TypeError

def twice(x):
    return step(step(x))

twice.__module__ = "belated.compiled.bind"
AMOUNT = int(sys.argv[1])

def add(x):
    return x + AMOUNT

advance = kernel(bind(twice, step=inlined(add)))
with budget.limited_to(0):
    print(advance(1), sum(advance.stats.cache_hits.values()))
"""


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_processes_that_bind_other_values_never_get_the_code_of_each_other(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(USER)

    def run(amount: int) -> str:
        command = [sys.executable, str(script), str(amount)]
        environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    assert [run(1), run(50), run(50)] == ["3 0\n", "101 0\n", "101 1\n"]


# Plain Python


@kernel
def scaled(x, y):
    return x * math.sqrt(y) + OFFSET


OFFSET = 0.1


@kernel
def total(values):
    result = 0.0
    for i in range(values.size):
        result += scaled(values[i], i)
    return result


def closure_over(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(values):
        return function(values) / 3.0

    return kernel(apply)


def test_a_kernel_and_its_callees_run_as_plain_python_with_the_same_bits() -> None:
    values = np.random.default_rng(0).random(50)
    third = closure_over(total)
    plain = interpret(third)
    assert plain(values) == third(values)
    assert type(plain) is FunctionType
    (inner,) = plain.__closure__
    assert type(inner.cell_contents) is FunctionType
    assert type(inner.cell_contents.__globals__["scaled"]) is FunctionType
