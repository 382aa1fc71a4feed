"""Triggers: rules of a user that decide when to plan, compiled for use in the engine.

A trigger is a function of an `Arrival`, or of an array of constants and an `Arrival`:

    trigger(arrival) -> bool                 trigger(constants, arrival) -> bool

It is evaluated at the start of each episode, but only if feedback has arrived since the start of
the previous episode, and after this feedback has been counted. A function decorated with `@trigger`
is compiled with numba for the compiled engine; `Learner` and the reference loop call it as Python.
A plain function runs only in `Learner` and the reference loop.

>>> @trigger
... def every_fifth(arrival):
...     return arrival.since_plan >= 5
>>> Triggered(every_fifth)
Triggered(trigger=every_fifth, constants=())
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, NamedTuple, Self

import numba
import numpy as np
from numba.core.errors import NumbaError

from belated.check import check_number
from belated.compiled import JIT, bind, compile_callback, dereference, inlined, interpret
from belated.episode import Floats
from belated.learner.own_functions import compilation_error
from belated.learner.updaters.updater import Arrival, Updater

types: Any = numba.types

Function = Callable[..., bool]
"""Function of (arrival) or of (constants, arrival) that returns whether to plan."""


class TriggerCall(NamedTuple):
    """Arguments of one call of a compiled trigger."""

    constants: Floats
    arrival: Arrival


Callback = Callable[[TriggerCall], int]


@cache
def signature() -> Any:
    """Return the numba signature of a compiled trigger, which is the same for all."""
    numbers = np.zeros(0, np.int64)
    example = TriggerCall(np.zeros(0), Arrival(numbers, numbers, numbers, 0, 0))
    return types.int64(types.CPointer(numba.typeof(example)))


@dataclass(frozen=True, repr=False)
class Trigger:
    """Function of (arrival) or (constants, arrival) that decides whether to plan."""

    function: Function
    compiled: bool  # False for a plain Python function

    def __post_init__(self) -> None:
        if self._parameters not in (1, 2):
            raise TypeError(
                f"A trigger must take (arrival) or (constants, arrival), but {self} takes "
                f"{self._parameters} arguments."
            )

    @property
    def _parameters(self) -> int:
        return self.function.__code__.co_argcount

    def __repr__(self) -> str:
        return self.function.__name__

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # immutable, and a function pointer cannot be copied

    def __call__(self, *arguments: Any) -> bool:
        """Return whether to plan; `arguments` are (arrival) or (constants, arrival)."""
        return bool(self.function(*arguments[-self._parameters :]))

    @cached_property
    def plain_callback(self) -> Callback:
        """Function that evaluates the trigger for a `TriggerCall` as plain Python."""
        return interpret(bind(is_due, call_trigger=self))

    @cached_property
    def callback(self) -> Callback:
        """Function that evaluates the trigger for a `TriggerCall`, and returns 1 or 0.

        If the trigger is compiled, this is a function pointer. Its type is the same for every
        trigger, so that the engine is compiled only once.
        """
        if not self.compiled:
            return self.plain_callback
        function = inlined(self.function)
        if self._parameters == 1:
            alone = function

            def ignore_constants(constants: Floats, arrival: Arrival) -> bool:
                return alone(arrival)

            function = inlined(ignore_constants)
        try:
            pointer: Callback = compile_callback(bind(is_due, call_trigger=function), signature())
        except NumbaError as error:
            raise compilation_error("trigger", self.function, error) from error
        return pointer


def trigger(function: Function) -> Trigger:
    """Return a `Trigger` that compiles `function` when it is first used by the compiled engine.

    Examples
    --------
    >>> @trigger
    ... def every_tenth(arrival):
    ...     return arrival.since_plan >= 10
    >>> from belated import UCRL2, Triggered, chain, simulate
    >>> updater = Triggered(every_tenth)
    >>> simulate(chain(3), base=UCRL2(scale=0.1), updater=updater, episodes=500).updates
    49
    """
    return Trigger(function, compiled=JIT)


def call_trigger(constants: Floats, arrival: Arrival) -> bool:
    """Raise TypeError: this function is a placeholder that `bind` replaces by a trigger."""
    raise TypeError("is_due needs a trigger, see bind.")


def is_due(pointer: TriggerCall) -> int:
    """Return 1 if the trigger requires a plan after the arrival that a call describes, else 0.

    `pointer` is a pointer to the call.
    """
    call = dereference(pointer)
    return 1 if call_trigger(call.constants, call.arrival) else 0


class TriggerRule(NamedTuple):
    """Trigger of an updater and its constants; see `Updater.trigger_rule`."""

    trigger: Trigger | Function
    constants: Any = ()
    """Numbers that are fixed before the run, as an array or a sequence."""

    def due(self, arrival: Arrival) -> bool:
        """Return whether the trigger requires a plan after `arrival`, evaluated as Python."""
        rule = self.checked()
        return rule.trigger(rule.constants, arrival)

    def checked(self) -> "TriggerRule":
        """Return the same rule with its function as a `Trigger` and its constants as an array.

        A plain function becomes a `Trigger` that is not compiled.
        """
        known = isinstance(self.trigger, Trigger)
        wrapped = self.trigger if known else Trigger(self.trigger, compiled=False)
        return TriggerRule(wrapped, np.ascontiguousarray(self.constants, np.float64).ravel())


@trigger
def no_trigger(arrival: Arrival) -> bool:
    """Return False for every `arrival`."""
    return False


NO_TRIGGER: Final = TriggerRule(no_trigger).checked()
"""Rule used in place of that of an updater without a trigger."""


@dataclass(frozen=True)
class Triggered(Updater):
    """Updater that plans when a trigger of the user requires it.

    The attribute `name` of the updater is the name of the trigger's function.

    Parameters
    ----------
    trigger : Trigger or callable
        Function of (arrival) or (constants, arrival) that returns whether to plan. With the
        decorator `bl.trigger` it is compiled.
    constants : sequence of float
        Constants of the trigger.
    """

    trigger: Trigger | Function
    constants: tuple[float, ...] = ()

    name = "triggered"
    is_lazy = True

    def __post_init__(self) -> None:
        if not callable(self.trigger):
            raise TypeError(
                f"trigger must be a function decorated with bl.trigger, got {self.trigger!r}."
            )
        if isinstance(self.constants, str) or not isinstance(self.constants, Iterable):
            raise TypeError(f"constants must be a sequence of numbers, got {self.constants!r}.")
        for number in self.constants:
            check_number("constants", number)
        object.__setattr__(self, "constants", tuple(float(number) for number in self.constants))
        function = self.trigger.function if isinstance(self.trigger, Trigger) else self.trigger
        object.__setattr__(self, "name", function.__name__)

    def trigger_rule(self) -> TriggerRule:
        return TriggerRule(self.trigger, self.constants)
