"""Parts: the learner that a spec asks for.

>>> from belated.ledger.problems import Part, Spec
>>> spec = Spec(name="clinic", states=("ill", "well"), actions=("wait", "treat"), horizon=1,
...             rewards=[[0, 0], [0, 1]], base=Part("ucrl2"), updater=Part("lazy", {"alpha": 10}),
...             episodes=1000)
>>> learner_of(spec).policy.actions.tolist()
[[0, 1]]
"""

import reprlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar, cast

from belated.episode import Shape
from belated.learner.bases import BASES, PSRL, Fixed, Optimal
from belated.learner.bases.base import Base
from belated.learner.learner import Learner
from belated.learner.updaters import UPDATERS, MultiInstance
from belated.learner.updaters.updater import Updater
from belated.ledger.problems import Part, Spec

T = TypeVar("T")

LEARNING: Final = {name: kind for name, kind in BASES.items() if kind not in (Fixed, Optimal)}
"""The bases that a problem can be learnt with."""

WAITING: Final = {name: kind for name, kind in UPDATERS.items() if kind is not MultiInstance}
"""The updaters it can be learnt with. With MultiInstance, each episode would need a copy of the
base of its own, chosen when it is opened and not when it is folded."""


def learner_of(spec: Spec) -> Learner:
    """A fresh learner of this problem, or a sentence about what is wrong with the spec."""
    return Learner(
        shape_of(spec),
        base=base_of(spec),
        updater=updater_of(spec),
        rewards=spec.rewards,
        episodes=spec.episodes,
        stages=spec.stages,  # type: ignore[arg-type]
        late=spec.late,
        reward_bonus=spec.reward_bonus,  # type: ignore[arg-type]
        seed=spec.seed,
    )


def shape_of(spec: Spec) -> Shape:
    """States, actions and steps."""
    return Shape(len(spec.states), len(spec.actions), spec.horizon)


def base_of(spec: Spec) -> Base:
    """How to plan."""
    part = spec.base
    if part.name == PSRL.name:
        # versions are immutable, so that a draw for each episode would be a version for each
        given = part.options.get("resample", "update")
        if given != "update":
            raise ValueError(
                f"resample is {reprlib.repr(given)}; a version of a policy serves many episodes, "
                "so that online only 'update' is offered."
            )
        part = Part(part.name, {**part.options, "resample": "update"})
    return _made("base", part, LEARNING)


def updater_of(spec: Spec) -> Updater:
    """When to plan."""
    return _made("updater", spec.updater, WAITING)


def _made(what: str, part: Part, known: Mapping[str, type[T]]) -> T:
    kind = known.get(part.name)
    if kind is None:
        raise ValueError(f"{what} is {part.name!r}; it must be one of {', '.join(known)}.")
    options = [field for field in fields(cast(Any, kind)) if field.init]
    names = [field.name for field in options]
    for name in part.options:
        if name not in names:
            has = f"it has {', '.join(names)}" if names else "it has none"
            raise ValueError(f"{what} {part.name!r} has no option {name!r}; {has}.")
    for field in options:
        if field.default is MISSING and field.name not in part.options:
            raise ValueError(f"{what} {part.name!r} needs the option {field.name!r}.")
    return kind(**part.options)
