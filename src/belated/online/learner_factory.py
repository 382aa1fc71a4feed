"""Construction of a learner from the specification of a problem.

>>> from belated.ledger.problems import Part
>>> spec = ProblemSpec(name="clinic", states=("ill", "well"), actions=("wait", "treat"), horizon=1,
...                    rewards=[[0, 0], [0, 1]], base=Part("ucrl2"),
...                    updater=Part("lazy", {"alpha": 10}), episodes=1000)
>>> build_learner(spec).policy.actions.tolist()
[[0, 1]]
"""

import reprlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar, cast

from belated.learner.bases import BASES, PSRL, RLSVI, BaseAlgorithm, Fixed, Optimal
from belated.learner.learner import Learner
from belated.learner.updaters import UPDATERS, Matured, MultiInstance
from belated.learner.updaters.updater import Updater
from belated.ledger.problems import Part, ProblemSpec
from belated.options import LearnerOptions, option_choices

T = TypeVar("T")

LEARNER_OPTIONS: Final = [name for name in option_choices(LearnerOptions) if name != "planning"]
"""Names of the learner options that a specification contains.

The option `planning` is excluded, since it does not affect results."""

ONLINE_BASES: Final = {name: kind for name, kind in BASES.items() if kind not in (Fixed, Optimal)}
"""Map from the name of each base that can be used for real episodes to its class."""

UNUSED_OPTIONS: Final = {
    "psrl": ("delta", "scale", "monotone"),
    "epsilon-greedy": ("delta", "scale", "monotone"),
    "random": ("delta", "scale", "monotone", "ties"),
    "q-learning": ("monotone",),
}
"""Map from the name of a base to the names of its obsolete options.

Version 0.1 accepted these options without using them. They are ignored, not rejected, since a
ledger may contain problems that set them."""

ONLINE_UPDATERS: Final = {
    name: kind for name, kind in UPDATERS.items() if kind is not MultiInstance
}
"""Map from the name of each updater that can be used for real episodes to its class.

MultiInstance is excluded: it would have to choose an instance when an episode is opened, but the
learner processes the opening only later."""


def build_learner(spec: ProblemSpec) -> Learner:
    """Return a new learner for the problem with the specification `spec`.

    Raises ValueError or TypeError if `spec` is not valid for a learner.
    """
    return Learner(
        spec.shape,
        base=build_base(spec),
        updater=build_updater(spec),
        rewards=None if spec.rewards is None else spec.reward_map.unit(spec.rewards),
        episodes=spec.episodes,
        seed=spec.seed,
        **{name: getattr(spec, name) for name in LEARNER_OPTIONS},
    )


def build_base(spec: ProblemSpec) -> BaseAlgorithm:
    """Return a new base as specified by `spec.base`.

    Raises ValueError if there is no such base, or if an option is unknown, missing or invalid.
    """
    part = spec.base
    if part.name in (PSRL.name, RLSVI.name):
        # sampling for each episode would require a published version for each episode
        given = part.options.get("resample", "update")
        if given != "update":
            raise ValueError(
                "resample must be 'update' online, since a version of a policy serves many "
                f"episodes, got {reprlib.repr(given)}."
            )
        part = Part(part.name, {**part.options, "resample": "update"})
    unused = UNUSED_OPTIONS.get(part.name, ())
    options = {name: value for name, value in part.options.items() if name not in unused}
    return _build_part("base", Part(part.name, options), ONLINE_BASES)


def build_updater(spec: ProblemSpec) -> Updater:
    """Return a new updater as specified by `spec.updater`.

    Raises ValueError if there is no such updater, or if an option is unknown, missing or invalid.
    """
    inner = spec.updater.options.get("updater", "active")
    if spec.updater.name == Matured.name and not (
        isinstance(inner, str)
        and inner.partition(":")[0] in ONLINE_UPDATERS.keys() - {Matured.name}
    ):  # only a built-in name: no request may import a module
        raise ValueError(
            f"option 'updater' of {Matured.name!r} must be the name of an updater such as "
            f"'active' or 'lazy:10', got {reprlib.repr(inner)}."
        )
    return _build_part("updater", spec.updater, ONLINE_UPDATERS)


def _build_part(role: str, part: Part, known: Mapping[str, type[T]]) -> T:
    kind = known.get(part.name)
    if kind is None:
        raise ValueError(f"{role} must be one of {', '.join(known)}, got {part.name!r}.")
    options = [field for field in fields(cast(Any, kind)) if field.init]
    names = [field.name for field in options]
    for name in part.options:
        if name not in names:
            has = f"it has {', '.join(names)}" if names else "it has none"
            raise ValueError(f"{role} {part.name!r} has no option {name!r}; {has}.")
    for field in options:
        if field.default is MISSING and field.name not in part.options:
            raise ValueError(f"{role} {part.name!r} needs the option {field.name!r}.")
    return kind(**part.options)
