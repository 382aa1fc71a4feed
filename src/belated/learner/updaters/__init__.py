"""Updaters: the rules that decide when a learner plans."""

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


UPDATER_NAMES: Names[Updater] = Names("updater", (Updater,), "an Updater", UPDATERS)
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
