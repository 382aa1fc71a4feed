import importlib.util

import pytest
from numba.core import event

import belated as bl
from belated.compiled import JIT
from belated.learner.updating import make_plan
from belated.notice import MESSAGE, MODULES, CompilationNotice

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


def test_compiling_anything_else_is_not_announced(engine, capsys):
    advance = engine("elsewhere").advance
    with event.install_listener("numba:compile", CompilationNotice(ENGINE)):
        assert advance(1) == 2
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("engine_name", "times"), [("compiled", 1), ("reference", 0)])
def test_a_compiled_run_asks_for_the_notice(engine_name, times, monkeypatch):
    asked = []
    name = "belated.simulation.setting.announce_compilation"
    monkeypatch.setattr(name, lambda: asked.append(True))
    bl.simulate(bl.chain(3), base=bl.UCRL2(), updater=bl.Active(), episodes=3, engine=engine_name)
    assert len(asked) == times


def test_a_plan_and_a_learner_ask_for_the_notice(monkeypatch):
    asked = []
    monkeypatch.setattr("belated.learner.instance.announce_compilation", lambda: asked.append(True))
    none = [[0, 0], [0, 0]]
    bl.plan("ucrl2", none, [none, none], none, episodes=5, horizon=2)
    bl.Learner(bl.Shape(2, 2, 2), base="ucrl2", updater="active", rewards=None, episodes=5)
    assert len(asked) == 2
    assert make_plan.py_func.__module__ in MODULES
