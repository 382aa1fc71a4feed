"""Updaters: the rules that decide when a learner plans."""

from typing import Any

from belated.learner.updaters.active import Active
from belated.learner.updaters.batched import Batched
from belated.learner.updaters.explicit import ExplicitExploration
from belated.learner.updaters.lazy import Lazy
from belated.learner.updaters.matured import Matured
from belated.learner.updaters.multi import MultiInstance
from belated.learner.updaters.scheduled import Scheduled
from belated.learner.updaters.trigger import Trigger, Triggered, TriggerRule, trigger
from belated.learner.updaters.updater import Arrival, EpochStart, Explorer, Updater
from belated.names import Names

UPDATERS: dict[str, type[Updater]] = {
    updater.name: updater
    for updater in (Active, Lazy, ExplicitExploration, MultiInstance, Batched, Scheduled, Matured)
}
"""Map from the name of each built-in updater to its class. Register a new updater here."""


class UpdaterNames(Names[Updater]):
    """Parser of texts that name an updater; those of `Matured` contain the name of another.

    The other updater follows the options and a colon, as in "matured:500:lazy:10".
    """

    def _split_options(self, text: str, listed: str) -> tuple[list[Any], dict[str, Any]]:
        own, colon, other = listed.partition(":")
        if not (colon and text.startswith(f"{Matured.name}:")):
            return super()._split_options(text, listed)
        values, options = super()._split_options(text, own)
        return [other, *values], options

    def _form(self, name: str) -> str:
        return f"{name}:AGE:UPDATER" if name == Matured.name else super()._form(name)


UPDATER_NAMES: Names[Updater] = UpdaterNames("updater", (Updater,), "an Updater", UPDATERS)
"""Parser of texts that name an updater, such as "lazy:10" or "my_updaters:Mine"."""

__all__ = [
    "UPDATERS",
    "UPDATER_NAMES",
    "Active",
    "Arrival",
    "Batched",
    "EpochStart",
    "ExplicitExploration",
    "Explorer",
    "Lazy",
    "Matured",
    "MultiInstance",
    "Scheduled",
    "Trigger",
    "TriggerRule",
    "Triggered",
    "Updater",
    "trigger",
]
