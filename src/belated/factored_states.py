"""Product states: one state for each combination of the values of several factors.

>>> states = States({"stage": ["new", "returning"], "severity": ["mild", "severe"]})
>>> states.names
('new/mild', 'new/severe', 'returning/mild', 'returning/severe')
>>> states.index(stage="returning", severity="mild"), states.index("returning/mild")
(2, 2)
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.check import check_index

SEPARATOR: Final = "/"
"""Text between two values in the name of a state."""


class Coarsening(NamedTuple):
    """Coarser product states, and a map from each original state to its coarse state."""

    states: "States"
    """The coarse states."""
    coarse_index: NDArray[np.int64]
    """Array of shape (S,): index of the coarse state that contains each original state. For an
    array of states, such as those of an episode, `coarse_index[states]` are the coarse states."""


class States:
    """Product states with names, usable wherever a number of states is accepted.

    Parameters
    ----------
    factors : mapping
        Map from the name of each factor to its values, which are text or integers. The name of a
        state consists of one value per factor, joined by "/", in the order of the factors; the last
        factor varies fastest.

    Raises
    ------
    TypeError, ValueError
        If `factors` is empty, or if a factor has no values, a value twice, or a value that is not
        text or an integer, is empty or contains "/".

    Examples
    --------
    >>> states = States({"stage": ["new", "returning"], "severity": ["mild", "severe"]})
    >>> len(states), states.name(1)
    (4, 'new/severe')
    >>> coarse, index = states.drop("severity")
    >>> coarse.names, index.tolist()
    (('new', 'returning'), [0, 0, 1, 1])
    """

    def __init__(self, factors: Mapping[str, Sequence[str | int]]) -> None:
        self.factors: dict[str, tuple[str, ...]] = _check_factors(factors)
        """Map from the name of each factor to its values, as text."""
        self.names: tuple[str, ...] = tuple(map(SEPARATOR.join, product(*self.factors.values())))
        """Names of the states, in the order of their indices."""
        self._index = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __index__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, States):
            return NotImplemented
        return list(self.factors.items()) == list(other.factors.items())

    def __hash__(self) -> int:
        return hash(tuple(self.factors.items()))

    def __repr__(self) -> str:
        factors = ", ".join(f"{name}={list(values)}" for name, values in self.factors.items())
        return f"states({factors})"

    def name(self, index: int) -> str:
        """Return the name of the state with this `index`, which lies in 0 .. S - 1."""
        return self.names[check_index("index", index, len(self))]

    def index(self, name: str | None = None, /, **values: str | int) -> int:
        """Return the index of a state.

        Parameters
        ----------
        name : str, optional
            Name of the state, such as "new/mild".
        **values
            Value of each factor, in place of `name`: stage="new", severity="mild".

        Returns
        -------
        int
            Index in 0 .. S - 1.

        Raises
        ------
        ValueError
            If there is no such state, or if a factor is missing or unknown.
        """
        if name is not None and values:
            raise ValueError(f"Give a name or the value of each factor, got {name!r} and {values}.")
        if name is None:
            if set(values) != set(self.factors):
                raise ValueError(
                    f"index needs the value of each of {', '.join(self.factors)}, "
                    f"got {', '.join(values) or 'none'}."
                )
            for factor, value in values.items():
                if str(value) not in self.factors[factor]:
                    raise ValueError(
                        f"{factor} must be one of {', '.join(self.factors[factor])}, got {value!r}."
                    )
            name = SEPARATOR.join(str(values[factor]) for factor in self.factors)
        if name not in self._index:
            raise ValueError(
                f"name must have the form {SEPARATOR.join(self.factors)}, such as "
                f"{self.names[0]!r}, got {name!r}."
            )
        return self._index[name]

    def drop(self, *factors: str) -> Coarsening:
        """Return the coarser states that result when some factors are ignored.

        `factors` are the names of these factors. At least one factor must remain.
        """
        self._check_names(factors)
        kept = {
            factor: {value: value for value in values}
            for factor, values in self.factors.items()
            if factor not in factors
        }
        if not kept:
            raise ValueError(f"At least one of {', '.join(self.factors)} must be kept.")
        return self._coarsening(kept)

    def merge(self, **groups: Mapping[str | int, str | int]) -> Coarsening:
        """Return the coarser states that result when some values are given a common name.

        Each keyword is the name of a factor, and its argument maps values of this factor to their
        new names. Other values are kept. For example, severity={"moderate": "severe"} merges the
        values "moderate" and "severe" of the factor severity.
        """
        self._check_names(groups)
        renamed: dict[str, dict[str, str]] = {}
        for factor, values in self.factors.items():
            group = {str(old): str(new) for old, new in groups.get(factor, {}).items()}
            for old in group:
                if old not in values:
                    raise ValueError(f"{factor} must be one of {', '.join(values)}, got {old!r}.")
            renamed[factor] = {value: group.get(value, value) for value in values}
        return self._coarsening(renamed)

    def _coarsening(self, names: Mapping[str, Mapping[str, str]]) -> Coarsening:
        """Return coarser product states, and the coarse state of each state.

        `names` maps each factor that is kept to a map from its values to their new names.
        """
        coarse = States({factor: [*dict.fromkeys(new.values())] for factor, new in names.items()})
        index = []
        for state in self.names:
            values = dict(zip(self.factors, state.split(SEPARATOR), strict=True))
            index.append(coarse.index(**{name: new[values[name]] for name, new in names.items()}))
        return Coarsening(coarse, np.array(index, np.int64))

    def _check_names(self, names: Sequence[str] | Mapping[str, object]) -> None:
        for name in names:
            if name not in self.factors:
                raise ValueError(f"factor must be one of {', '.join(self.factors)}, got {name!r}.")


def states(**factors: Sequence[str | int]) -> States:
    """Return product states: one state for each combination of the values of `factors`.

    The last factor varies fastest, and the name of a state joins its values by "/".

    >>> states(stage=["new", "returning"], severity=["mild", "severe"]).names[1]
    'new/severe'
    """
    return States(factors)


def _check_factors(factors: Mapping[str, Sequence[str | int]]) -> dict[str, tuple[str, ...]]:
    """Return a dict from the name of each factor to its values as text.

    Raises TypeError or ValueError if `factors` is empty, or if a value is invalid.
    """
    if not factors:
        raise ValueError("At least one factor is needed, such as stage=['new', 'returning'].")
    checked: dict[str, tuple[str, ...]] = {}
    for name, values in factors.items():
        if isinstance(values, str):
            raise TypeError(f"values of {name} must be a list such as [{values!r}], got a string.")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise TypeError(f"values of {name} must be text or integers, got {value!r}.")
            if value == "" or SEPARATOR in str(value):
                raise ValueError(
                    f"values of {name} must not be empty or contain {SEPARATOR!r}, got {value!r}."
                )
        checked[name] = tuple(str(value) for value in values)
        if not checked[name]:
            raise ValueError(f"{name} must have at least one value, got none.")
        if len(set(checked[name])) < len(checked[name]):
            raise ValueError(f"values of {name} must differ, got {list(values)}.")
    return checked
