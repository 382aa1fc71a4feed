"""Every choice of the options of an optimistic base says which proof holds for it."""

from itertools import product
from typing import get_args, get_type_hints

import pytest

import belated as bl
from belated.learner.bases import OPTIMISTIC


@pytest.mark.parametrize("name", OPTIMISTIC)
def test_every_choice_of_an_optimistic_base_has_a_declaration(name: str) -> None:
    kind = OPTIMISTIC[name]
    declared = {option for proof in kind.proofs for option in proof.options}
    choices = {
        option: get_args(get_type_hints(kind)[option]) or (False, True) for option in declared
    }
    assert kind.proofs
    for values in product(*choices.values()):
        base = kind(**dict(zip(choices, values, strict=True)))
        assert base.proof in kind.proofs
        assert (base.proof.by == "") == (base.proof.counts == "")


def test_presets_without_a_proof_say_so() -> None:
    for preset in ("no_third", "two_term", "emp_bernstein", "simplified_bernstein"):
        assert not bl.UCBVI_BF(preset=preset).proof.by
    assert not bl.Chi2_UCRL(radius="practical").proof.by
    assert not bl.UCBVI_BF().proof.by
    assert bl.UCBVI_BF(monotone=True).proof.counts == "pooled"
    assert bl.UCRL2().proof.by.startswith("Weissman")
