import importlib.util

import pytest
from numba.core import event

from belated.compiled import JIT
from belated.notice import MESSAGE, CompilationNotice

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

ENGINE = "small_engine"
SOURCE = """
from numba import njit

@njit(cache=True)
def advance(x):
    return x + 1
"""


@pytest.fixture
def engine(tmp_path):
    """A function that loads a small stand-in for a compiled module, as a new process would."""
    path = tmp_path / "engine.py"
    path.write_text(SOURCE)  # once: numba compares the time of the last change

    def load(name=ENGINE):
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_compiling_the_engine_is_announced_once(engine, capsys):
    advance = engine().advance
    with event.install_listener("numba:compile", CompilationNotice(ENGINE)):
        assert advance(1) == 2
        assert advance(1.5) == 2.5
    assert capsys.readouterr() == ("", MESSAGE + "\n")


def test_an_engine_compiled_before_is_not_announced(engine, capsys):
    engine().advance(1)
    again = engine().advance
    with event.install_listener("numba:compile", CompilationNotice(ENGINE)):
        assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1
    assert capsys.readouterr() == ("", "")
