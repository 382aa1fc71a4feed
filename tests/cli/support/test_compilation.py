"""Compilation of the learner when the service starts."""

from typing import Any

import pytest

from belated.cli import demo, serve
from belated.cli.support.compilation import compile_learner
from belated.compiled import JIT
from belated.learner.planning import full


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_nothing_is_left_to_compile_for_a_problem_with_the_default_options() -> None:
    import belated as bl

    compile_learner()
    compiled = count_compiled()
    learner = bl.Learner(
        bl.Shape(3, 2, 2), base=bl.UCRL2(scale=0.1), updater=bl.Active(), rewards=None, episodes=9
    )
    learner.start(1)
    learner.observe(bl.Episode(1, states=[0, 1, 2], actions=[0, 1], rewards=[0.0, 1.0]))
    assert count_compiled() == compiled


def count_compiled() -> int:
    """Return the number of compiled signatures of the functions of full planning."""
    found: list[Any] = [each for each in vars(full).values() if hasattr(each, "signatures")]
    assert found
    return sum(len(each.signatures) for each in found)


@pytest.mark.parametrize("module", [serve, demo])
def test_the_learner_is_compiled_before_connections_are_accepted(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    class CompiledError(Exception):
        pass

    def compiled() -> None:
        raise CompiledError

    def listens(*args: object) -> None:
        raise AssertionError("The service listens before the learner is compiled.")

    monkeypatch.setattr(module, "compile_learner", compiled)
    monkeypatch.setattr(module, "open_listener", listens)
    command = getattr(module, module.__name__.rpartition(".")[2])
    with pytest.raises(CompiledError):
        command(store=f"sqlite:///{tmp_path / 'ledger.db'}")
