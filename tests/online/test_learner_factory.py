"""From a spec to a learner, or to a sentence."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.ledger import Part
from belated.online.learner_factory import (
    ONLINE_BASES,
    ONLINE_UPDATERS,
    build_base,
    build_learner,
)
from histories import A, H, S, make_spec
from snapshots import same


def test_a_learner_is_made_as_the_spec_says() -> None:
    rewards = np.linspace(0, 1, H * S * A).reshape(H, S, A)
    spec = make_spec(
        rewards=rewards,
        base=Part("ubev", {"delta": 0.2, "ties": "random"}),
        updater=Part("lazy", {"alpha": 3}),
        episodes=77,
        stages="pooled",
        reward_bonus="paper",
        seed=5,
    )
    made = bl.Learner(
        bl.Shape(S, A, H),
        base=bl.UBEV(delta=0.2, ties="random"),
        updater=bl.Lazy(3),
        rewards=rewards,
        episodes=77,
        stages="pooled",
        reward_bonus="paper",
        seed=5,
    )
    assert same(build_learner(spec).snapshot(), made.snapshot())
    assert spec.shape == made.shape


@pytest.mark.parametrize("options", [{}, {"resample": "update"}])
@pytest.mark.parametrize("updater", [Part("active"), Part("lazy", {"alpha": 2})])
@pytest.mark.parametrize("base", [bl.PSRL, bl.RLSVI])
def test_a_base_that_samples_draws_for_each_update(
    base: Any, options: dict[str, Any], updater: Part
) -> None:
    spec = make_spec(base=Part(base.name, options), updater=updater)
    assert build_base(spec) == base(resample="update")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"base": Part("fixed", {"actions": [0] * S})},
            f"base must be one of {', '.join(ONLINE_BASES)}, got 'fixed'.",
        ),
        (
            {"base": Part("optimal")},
            f"base must be one of {', '.join(ONLINE_BASES)}, got 'optimal'.",
        ),
        ({"base": Part("nonsense")}, "base must be one of "),
        (
            {"updater": Part("multi")},
            f"updater must be one of {', '.join(ONLINE_UPDATERS)}, got 'multi'.",
        ),
        (
            {"base": Part("psrl", {"resample": "episode"})},
            "resample must be 'update' online, since a version of a policy serves many "
            "episodes, got 'episode'.",
        ),
        ({"base": Part("rlsvi", {"resample": "episode"})}, "resample must be 'update' online"),
        ({"base": Part("psrl", {"resample": None})}, "resample must be 'update' online"),
        (
            {"base": Part("ucrl2", {"colour": 1})},
            "base 'ucrl2' has no option 'colour'; it has ties, delta, scale, monotone",
        ),
        (
            {"updater": Part("active", {"alpha": 1})},
            "updater 'active' has no option 'alpha'; it has none.",
        ),
        ({"updater": Part("lazy")}, "updater 'lazy' needs the option 'alpha'."),
        (
            {"base": Part("ucrl2", {"delta": 2})},
            "delta must lie strictly between 0 and 1, got 2.",
        ),
        ({"updater": Part("lazy", {"alpha": 0.5})}, "alpha must be at least 1"),
        ({"updater": Part("explicit")}, "tau_max is missing; pass the largest delay"),
        ({"stages": "none"}, "stages must be one of 'each', 'pooled', got 'none'."),
        ({"reward_bonus": "none"}, "reward_bonus must be one of "),
    ],
)
def test_a_spec_that_cannot_be_learnt_gets_a_sentence(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        build_learner(make_spec(**options))
    assert str(refused.value).startswith(sentence)


def test_an_option_of_the_wrong_type_gets_the_sentence_of_its_base() -> None:
    with pytest.raises(TypeError, match=r"^scale must be a number, got 'big'\.$"):
        build_learner(make_spec(base=Part("ucrl2", {"scale": "big"})))


@pytest.mark.parametrize("name", ["psrl", "epsilon-greedy", "random", "q-learning"])
def test_a_problem_may_keep_options_that_its_base_never_used(name: str) -> None:
    unused = {"monotone": True} if name == "q-learning" else {"scale": 0.5, "monotone": True}
    spec = make_spec(base=Part(name, unused))
    assert build_base(spec) == build_base(make_spec(base=Part(name)))
