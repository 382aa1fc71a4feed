"""Models: what requests and answers look like."""

from belated.service.models.common import (
    ID,
    MOST,
    EpisodeId,
    Error,
    ProblemName,
    QueryVersion,
    Subject,
    Version,
    example_of,
)
from belated.service.models.episodes import Decision, Episode, NewEpisode, Plan, Situation
from belated.service.models.exports import LedgerEvent
from belated.service.models.feedback import (
    LateRewards,
    LineResult,
    Receipt,
    SomeSteps,
    StepReport,
    Walk,
    WholeEpisode,
    Withdrawal,
)
from belated.service.models.history import (
    History,
    TimeBin,
    TimeBins,
    VersionBin,
    VersionBins,
)
from belated.service.models.policies import (
    Change,
    Choice,
    Diff,
    RollBack,
    Shadow,
    VersionInfo,
    Versions,
)
from belated.service.models.problems import CLINIC, NewProblem, Part, Problem, Problems
from belated.service.models.quarantine import Refusal
from belated.service.models.standing import Ages, Health, InFlight, Readiness, Status

__all__ = [
    "CLINIC",
    "ID",
    "MOST",
    "Ages",
    "Change",
    "Choice",
    "Decision",
    "Diff",
    "Episode",
    "EpisodeId",
    "Error",
    "Health",
    "History",
    "InFlight",
    "LateRewards",
    "LedgerEvent",
    "LineResult",
    "NewEpisode",
    "NewProblem",
    "Part",
    "Plan",
    "Problem",
    "ProblemName",
    "Problems",
    "QueryVersion",
    "Readiness",
    "Receipt",
    "Refusal",
    "RollBack",
    "Shadow",
    "Situation",
    "SomeSteps",
    "Status",
    "StepReport",
    "Subject",
    "TimeBin",
    "TimeBins",
    "Version",
    "VersionBin",
    "VersionBins",
    "VersionInfo",
    "Versions",
    "Walk",
    "WholeEpisode",
    "Withdrawal",
    "example_of",
]
