"""Worlds by the names a person would write: "chain-30", "deep-sea-10-noisy", "grid-5x5".

>>> parse("riverswim-6")
MDP(states=6, actions=2, horizon=20, homogeneous, 22 successors)
>>> [named.name for named in examples()][:3]
['chain-30', 'chain-30-right', 'riverswim-6']
>>> look_up("grid-3x7").layout
(3, 7)
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from belated.mdp.chain import chain
from belated.mdp.deep_sea import deep_sea
from belated.mdp.garnet import garnet
from belated.mdp.gridworld import gridworld
from belated.mdp.model import MDP
from belated.mdp.riverswim import riverswim

Layout = Literal["row", "steps", "ring"] | tuple[int, int]
"""How the states of a world stand in a picture: in a row, in a row at every step, in a ring, or in
a grid of rows and columns, row by row."""

SIDEWAYS: Final = ("left", "right")


class MissingExtraError(ValueError):
    """A world needs a package that is not installed."""

    def __init__(self, name: str, package: str, extra: str) -> None:
        self.remedy = f"pip install 'belated[{extra}]'"
        super().__init__(f"world is {name!r}, which needs {package}: {self.remedy}.")


@dataclass(frozen=True)
class Kind:
    """A kind of world: how it is written, what it is, and how it is made.

    In `form`, a word in capitals stands for a number, and brackets enclose what may be left out;
    `make` and `layout` get the numbers in order.
    """

    form: str
    example: str
    about: str
    source: str
    make: Callable[..., MDP]
    actions: tuple[str, ...] = ()
    """Their names; where they have none, there are none."""
    layout: Callable[..., Layout] = lambda *_: "ring"
    needs: tuple[str, str] | None = None
    """A package and the extra that installs it."""

    def numbers(self, text: str) -> tuple[int, ...] | None:
        """The numbers in a name of this form."""
        optional = self.form.replace("[", "(?:").replace("]", ")?")
        found = re.fullmatch(re.sub("[A-Z]+", "([0-9]+)", optional), text)
        return found and tuple(int(number) for number in found.groups() if number is not None)


@dataclass(frozen=True)
class Named:
    """A world that has a name and is not made yet."""

    name: str
    kind: Kind
    numbers: tuple[int, ...]

    @property
    def layout(self) -> Layout:
        """How its states stand in a picture."""
        return self.kind.layout(*self.numbers)

    def make(self) -> MDP:
        """The world."""
        if self.kind.needs is not None and find_spec(self.kind.needs[0]) is None:
            raise MissingExtraError(self.name, *self.kind.needs)
        return self.kind.make(*self.numbers)


def parse(text: str) -> MDP:
    """The world of this name."""
    return look_up(text).make()


world = parse
"""As `belated.world` has it."""


def look_up(text: str) -> Named:
    """What a name stands for, or a sentence with all that are understood."""
    for kind in KINDS:
        numbers = kind.numbers(text)
        if numbers is not None:
            return Named(text, kind, numbers)
    raise ValueError(
        f"world is {text!r}; it must be one of {', '.join(kind.form for kind in KINDS)}, "
        f"such as {KINDS[0].example!r}."
    )


def examples() -> list[Named]:
    """One world of each kind."""
    return [look_up(kind.example) for kind in KINDS]


def _gymnasium(id: str, horizon: int) -> Callable[[], MDP]:
    def make() -> MDP:
        from belated.mdp.gymnasium import from_gymnasium

        return from_gymnasium(id, horizon=horizon)

    return make


def _icu_sepsis() -> MDP:
    from belated.mdp.icu_sepsis import icu_sepsis

    return icu_sepsis(horizon=20)


KINDS: Final = (
    Kind(
        form="chain-S",
        example="chain-30",
        about="S states in a row, S steps; only going right all the way pays.",
        source="Osband and Van Roy 2017; Howson et al. 2023",
        make=chain,
        actions=SIDEWAYS,
        layout=lambda _: "row",
    ),
    Kind(
        form="chain-S-right",
        example="chain-30-right",
        about="The chain, paying for right only.",
        source="Osband and Van Roy 2017; Howson et al. 2023",
        make=lambda S: chain(S, reward_on="state_right"),
        actions=SIDEWAYS,
        layout=lambda _: "row",
    ),
    Kind(
        form="riverswim-S",
        example="riverswim-6",
        about="S states along a river, 20 steps; swimming up pays much, later.",
        source="Strehl and Littman 2008; Osband et al. 2013",
        make=riverswim,
        actions=SIDEWAYS,
        layout=lambda _: "row",
    ),
    Kind(
        form="deep-sea-N",
        example="deep-sea-10",
        about="N columns, N steps down; one path of 2^N leads to the treasure.",
        source="Osband et al. 2019 and 2020",
        make=deep_sea,
        actions=SIDEWAYS,
        layout=lambda _: "steps",
    ),
    Kind(
        form="deep-sea-N-noisy",
        example="deep-sea-10-noisy",
        about="The deep sea with a current, and rewards that are coins.",
        source="Osband et al. 2019 and 2020",
        make=lambda size: deep_sea(size, noisy=True),
        actions=SIDEWAYS,
        layout=lambda _: "steps",
    ),
    Kind(
        form="garnet-S-A-B[-SEED]",
        example="garnet-20-3-4",
        about="Random: S states, A actions, B successors of each pair, 20 steps; seed 0.",
        source="Archibald et al. 1995; Bhatnagar et al. 2009",
        make=lambda S, A, B, seed=0: garnet(S, A, horizon=20, branching=B, seed=seed),
    ),
    Kind(
        form="grid-RxC",
        example="grid-5x5",
        about="R rows, C columns, 2(R + C) steps; one move in ten slips sideways.",
        source="after Russell and Norvig",
        make=lambda rows, columns: gridworld(rows, columns, horizon=2 * (rows + columns)),
        actions=("up", "right", "down", "left"),
        layout=lambda rows, columns: (rows, columns),
    ),
    Kind(
        form="frozen-lake-4x4",
        example="frozen-lake-4x4",
        about="A slippery lake with holes, 100 steps.",
        source="Gymnasium, FrozenLake-v1",
        make=_gymnasium("FrozenLake-v1", 100),
        actions=("left", "down", "right", "up"),
        layout=lambda: (4, 4),
        needs=("gymnasium", "gym"),
    ),
    Kind(
        form="frozen-lake-8x8",
        example="frozen-lake-8x8",
        about="A larger one, 200 steps.",
        source="Gymnasium, FrozenLake8x8-v1",
        make=_gymnasium("FrozenLake8x8-v1", 200),
        actions=("left", "down", "right", "up"),
        layout=lambda: (8, 8),
        needs=("gymnasium", "gym"),
    ),
    Kind(
        form="cliff-walking",
        example="cliff-walking",
        about="A walk along a cliff that costs 1 a step and 100 a fall, 20 steps.",
        source="Gymnasium, CliffWalking-v1",
        make=_gymnasium("CliffWalking-v1", 20),
        actions=("up", "right", "down", "left"),
        layout=lambda: (4, 12),
        needs=("gymnasium", "gym"),
    ),
    Kind(
        form="taxi",
        example="taxi",
        about="A passenger to pick up and to drop off in a city of 5 x 5 cells, 200 steps.",
        source="Gymnasium, Taxi-v4",
        make=_gymnasium("Taxi-v4", 200),
        actions=("down", "up", "right", "left", "pick up", "drop off"),
        needs=("gymnasium", "gym"),
    ),
    Kind(
        form="icu-sepsis",
        example="icu-sepsis",
        about="Treating sepsis, estimated from intensive-care records, 20 steps.",
        source="Choudhary et al. 2024",
        make=_icu_sepsis,
        needs=("icu_sepsis", "icu"),
    ),
)
"""Every kind of world that can be named."""
