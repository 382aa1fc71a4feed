"""Updaters: the rules that decide when a learner plans."""

from belated.learner.updaters.active import Active
from belated.learner.updaters.explicit import ExplicitExploration
from belated.learner.updaters.lazy import Lazy
from belated.learner.updaters.multi import MultiInstance
from belated.learner.updaters.trigger import Trigger, Triggered, TriggerRule, trigger
from belated.learner.updaters.updater import Arrival, EpochStart, Explorer, Updater

UPDATERS: dict[str, type[Updater]] = {
    updater.name: updater for updater in (Active, Lazy, ExplicitExploration, MultiInstance)
}

__all__ = [
    "UPDATERS",
    "Active",
    "Arrival",
    "EpochStart",
    "ExplicitExploration",
    "Explorer",
    "Lazy",
    "MultiInstance",
    "Trigger",
    "TriggerRule",
    "Triggered",
    "Updater",
    "trigger",
]
