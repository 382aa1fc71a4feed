"""Registry of worlds by name, such as "chain-30", "deep-sea-10-noisy" or "grid-5x5".

The tuple `WORLD_FAMILIES` lists all worlds that have names. To add a world, write a function that
builds it in a module of this package and add a `WorldFamily` to the tuple. The function `world`,
study files and the commands `belated worlds` and `belated show` then accept its name.

>>> world("riverswim-6")
MDP(states=6, actions=2, horizon=20, homogeneous, 22 successors)
>>> [named.name for named in example_worlds()][:3]
['chain-30', 'chain-30-right', 'riverswim-6']
>>> parse_name("grid-3x7").layout
(3, 7)
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Final, Literal

from belated.extras import install_command, missing_extra
from belated.mdp.classics import bandit, chain, deep_sea, garnet, parse_bandit, riverswim
from belated.mdp.gridworld import gridworld
from belated.mdp.gymnasium import from_gymnasium
from belated.mdp.icu_sepsis import ACTIONS, icu_sepsis
from belated.mdp.model import MDP
from belated.names import Named, Names

Layout = Literal["row", "ring"] | tuple[int, int]
"""Arrangement of the states in a figure: a row, a ring, or a grid of (rows, columns), which
is filled row by row."""


class MissingExtraError(ValueError):
    """Error for a world that needs a package that is not installed.

    Parameters
    ----------
    name : str
        Name of the world.
    package : str
        Name of the missing package.
    extra : str
        Extra of belated that installs the package.

    Attributes
    ----------
    install_command : str
        Command that installs the package; part of the message.
    """

    def __init__(self, name: str, package: str, extra: str) -> None:
        self.install_command = install_command(extra)
        super().__init__(missing_extra(f"world {name!r}", package, extra))


@dataclass(frozen=True)
class WorldFamily:
    """Worlds that share a name pattern and differ in the numbers in their names."""

    pattern: str
    """Form of a name. A word in capitals stands for a number; brackets enclose an optional part."""
    example: str
    """Name of one world of the family."""
    description: str
    """Description in one sentence, printed by `belated show`."""
    source: str
    """Publication or package in which the world was introduced."""
    build: Callable[..., MDP]
    """Function that returns a world, given the numbers in its name in order."""
    action_names: tuple[str, ...] = ()
    """Names of the actions; empty if the actions have no names."""
    layout: Callable[..., Layout] = lambda *_: "ring"
    """Function that returns the arrangement of the states of a world in a figure, given the numbers
    in the name of the world in order, such as 3 and 7 for "grid-3x7"."""
    requires: tuple[str, str] | None = None
    """Package that the world needs and the extra of belated that installs it; None if the world
    needs no other package."""
    parse: Callable[[str], tuple[float, ...] | None] | None = None
    """Function that returns the numbers in a name, or None if the name belongs to another family;
    None if `pattern` says where the numbers are."""

    def parse_numbers(self, name: str) -> tuple[float, ...] | None:
        """Return the numbers in `name` in order, or None if `name` does not match `pattern`."""
        if self.parse is not None:
            return self.parse(name)
        optional = self.pattern.replace("[", "(?:").replace("]", ")?")
        match = re.fullmatch(re.sub("[A-Z]+", "([0-9]+)", optional), name)
        return match and tuple(int(number) for number in match.groups() if number is not None)


@dataclass(frozen=True)
class NamedWorld:
    """Parsed name of a world that has not been built yet."""

    name: str
    family: WorldFamily
    numbers: tuple[float, ...]  # the numbers in the name, in order

    @property
    def layout(self) -> Layout:
        """Arrangement of the states in a figure."""
        return self.family.layout(*self.numbers)

    def build(self) -> MDP:
        """Return the world; raise MissingExtraError if a required package is not installed."""
        if self.family.requires is not None and find_spec(self.family.requires[0]) is None:
            raise MissingExtraError(self.name, *self.family.requires)
        return self.family.build(*self.numbers)


def world(name: str | MDP) -> MDP:
    """Return the world with this `name`; the command `belated worlds` lists all names.

    "module:name" imports your own world, or a class or function that returns it, with options in
    "module:name:option=value" (see `belated.names`). An MDP is returned unchanged.

    Raises
    ------
    ValueError
        If `name` matches no known pattern, a number in `name` is out of range, or the world needs
        a package that is not installed.

    Examples
    --------
    >>> world("chain-30")
    MDP(states=30, actions=2, horizon=30, homogeneous, 90 successors)
    """
    return name if isinstance(name, MDP) else parse_name(name).build()


def parse_name(name: str) -> NamedWorld:
    """Return the parsed `name` of a world without building the world.

    A name that matches no known pattern raises ValueError.
    """
    if not isinstance(name, str):
        raise TypeError(f"world must be an MDP or the name of one, got {name!r}.")
    for family in WORLD_FAMILIES:
        numbers = family.parse_numbers(name)
        if numbers is not None:
            return NamedWorld(name, family, numbers)
    return NamedWorld(name, _imported_family(WORLD_NAMES.find(name)), ())


def _imported_family(named: Named) -> WorldFamily:
    """Return the family whose only world is the imported world `named`."""
    return WorldFamily(
        pattern=named.name,
        example=named.name,
        description=f"Imported from {named.name.partition(':')[0]}.",
        source=named.name,
        build=lambda: WORLD_NAMES.build(named),
    )


def example_worlds() -> list[NamedWorld]:
    """Return the parsed name of one example world of each family.

    The worlds are not built.
    """
    return [parse_name(family.example) for family in WORLD_FAMILIES]


_row = partial(WorldFamily, action_names=("left", "right"), layout=lambda _: "row")
_of_gymnasium = partial(WorldFamily, requires=("gymnasium", "gym"))

WORLD_FAMILIES: Final = (
    _row(
        pattern="chain-S",
        example="chain-30",
        description="S states in a row, S steps; only the last state gives a reward.",
        source="Osband and Van Roy 2017; Howson et al. 2023",
        build=chain,
    ),
    _row(
        pattern="chain-S-right",
        example="chain-30-right",
        description="The chain, in which only action right in the last state gives a reward.",
        source="Osband and Van Roy 2017; Howson et al. 2023",
        build=lambda S: chain(S, reward_on="state_right"),
    ),
    _row(
        pattern="riverswim-S",
        example="riverswim-6",
        description="S states along a river, 20 steps; the large reward is upstream.",
        source="Strehl and Littman 2008; Osband et al. 2013",
        build=riverswim,
    ),
    _row(
        pattern="deep-sea-N",
        example="deep-sea-10",
        description="N columns, N steps down; one path of 2^N leads to the treasure.",
        source="Osband et al. 2019 and 2020",
        build=deep_sea,
    ),
    _row(
        pattern="deep-sea-N-noisy",
        example="deep-sea-10-noisy",
        description="The deep sea with random moves and Bernoulli rewards.",
        source="Osband et al. 2019 and 2020",
        build=lambda size: deep_sea(size, noisy=True),
    ),
    WorldFamily(
        pattern="garnet-S-A-B[-SEED][-H]",
        example="garnet-20-3-4",
        description="Random: S states, A actions, B successors of each pair, H = 20 steps; seed 0.",
        source="Archibald et al. 1995; Bhatnagar et al. 2009",
        build=lambda S, A, B, seed=0, H=20: garnet(S, A, horizon=H, branching=B, seed=seed),
    ),
    WorldFamily(
        pattern="grid-RxC",
        example="grid-5x5",
        description="R rows, C columns, 2(R + C) steps; one move in ten slips sideways.",
        source="after Russell and Norvig",
        build=lambda rows, columns: gridworld(rows, columns, horizon=2 * (rows + columns)),
        action_names=("up", "right", "down", "left"),
        layout=lambda rows, columns: (rows, columns),
    ),
    WorldFamily(
        pattern="bandit-MEAN-MEAN...",
        example="bandit-0.4-0.6",
        description="One state, one step; an arm pays 1 with the probability in the name, else 0.",
        source="Thompson 1933; Auer, Cesa-Bianchi and Fischer 2002",
        build=lambda *means: bandit(means),
        layout=lambda *_: "row",
        parse=parse_bandit,
    ),
    _of_gymnasium(
        pattern="frozen-lake-4x4",
        example="frozen-lake-4x4",
        description="A slippery lake with holes, 100 steps.",
        source="Gymnasium, FrozenLake-v1",
        build=lambda: from_gymnasium("FrozenLake-v1", horizon=100),
        action_names=("left", "down", "right", "up"),
        layout=lambda: (4, 4),
    ),
    _of_gymnasium(
        pattern="frozen-lake-8x8",
        example="frozen-lake-8x8",
        description="A larger slippery lake with holes, 200 steps.",
        source="Gymnasium, FrozenLake8x8-v1",
        build=lambda: from_gymnasium("FrozenLake8x8-v1", horizon=200),
        action_names=("left", "down", "right", "up"),
        layout=lambda: (8, 8),
    ),
    _of_gymnasium(
        pattern="cliff-walking",
        example="cliff-walking",
        description="A walk along a cliff that costs 1 per step and 100 per fall, 20 steps.",
        source="Gymnasium, CliffWalking-v1",
        build=lambda: from_gymnasium("CliffWalking-v1", horizon=20),
        action_names=("up", "right", "down", "left"),
        layout=lambda: (4, 12),
    ),
    _of_gymnasium(
        pattern="taxi",
        example="taxi",
        description="A passenger to pick up and drop off in a city of 5 x 5 cells, 200 steps.",
        source="Gymnasium, Taxi-v4",
        build=lambda: from_gymnasium("Taxi-v4", horizon=200),
        action_names=("down", "up", "right", "left", "pick up", "drop off"),
    ),
    WorldFamily(
        pattern="icu-sepsis[-A]",
        example="icu-sepsis",
        description="Sepsis treatment from intensive-care records, A = 25 treatments, 20 steps.",
        source="Choudhary et al. 2024",
        build=lambda treatments=ACTIONS: icu_sepsis(treatments=treatments),
        requires=("icu_sepsis", "icu"),
    ),
)
"""Families of all worlds that have names. A name belongs to the first family whose pattern it
matches."""

WORLD_NAMES: Final[Names[MDP]] = Names(
    "world", (MDP,), "an MDP", {}, forms=[family.pattern for family in WORLD_FAMILIES]
)
"""Parser of texts such as "module:name" that name a world to import."""
