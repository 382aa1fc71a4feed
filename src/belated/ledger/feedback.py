"""Feedback as columns, and its comparison with what is recorded of the episode.

Columns are the one form of the steps of an episode, from the parser to the learner. New feedback is
compared with the events that hold the recorded feedback of its episode, part by part, and is found
to be new, repeated or in conflict.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from belated.ledger.events import AlreadyRecorded, Conflict, Invalid
from belated.ledger.problems import ProblemSpec
from belated.padding import find_break, is_padding_after

Form = Literal["whole", "steps", "path"]
"""Form in which an episode arrives: as a whole, as single steps, or as a path and rewards."""

Part: TypeAlias = tuple[str, int]
"""Smallest unit of feedback that can arrive: "whole", "path", "step", "reward" or "end", and the
number of the step; -1 for a whole episode and a path. Part "end" marks an episode that ends before
the horizon, and its number is the number of steps."""


class PaddingStep(NamedTuple):
    """Step after the end of an episode, in a request that does not contain the end."""

    where: str
    """Path of the step in the request, such as "steps[0]"."""
    step: int
    state: int


class Columns(NamedTuple):
    """Feedback of one episode with one row for each step, in order of the steps.

    States and actions are indices. They are None in all rows if only rewards have arrived, and a
    reward is None if it has not arrived or is not needed.
    """

    form: Form
    steps: list[int]
    states: list[Any]
    actions: list[Any]
    next_states: list[Any]
    rewards: list[float | None]
    has_path: bool = True
    """Whether the states and actions have arrived."""
    padding: tuple[PaddingStep, ...] = ()
    """Padding that has to be compared with the end of the episode, which arrived before."""

    @classmethod
    def of_path(
        cls,
        form: Form,
        states: Sequence[int],
        actions: Sequence[int],
        rewards: Sequence[float] | None = None,
    ) -> "Columns":
        """Return the columns of a path, which has one state more than actions."""
        steps = list(range(len(actions)))
        paid: list[float | None] = [*rewards] if rewards is not None else [None] * len(steps)
        return cls(form, steps, list(states[:-1]), list(actions), list(states[1:]), paid)

    @classmethod
    def of_steps(cls, rows: Mapping[int, Sequence[Any]]) -> "Columns":
        """Return the columns of single steps: a map from the number of a step to its row.

        A row has the state, the action, the next state and the reward.
        """
        states, actions, next_states, rewards = (
            [row[place] for row in rows.values()] for place in range(4)
        )
        return cls("steps", list(rows), states, actions, next_states, rewards)

    @classmethod
    def of_rewards(cls, rewards: Mapping[int, float], path: "Columns | None") -> "Columns":
        """Return the columns of rewards by step and of the `path`; None if it has not arrived."""
        if path is not None:
            return path._replace(rewards=[rewards.get(step) for step in path.steps])
        none = [None] * len(rewards)
        paid: list[float | None] = list(rewards.values())
        return cls("path", list(rewards), none, none, none, paid, has_path=False)

    def end(self, spec: ProblemSpec) -> tuple[int, int] | None:
        """Return the number of steps and the state at the end of the episode, if it is a row.

        The end is the first row whose next state is terminal.
        """
        if not self.has_path or spec.terminal is None:
            return None
        is_terminal = spec.shape.is_terminal
        ends = zip(self.steps, self.next_states, strict=True)
        return next(((step + 1, state) for step, state in ends if is_terminal[state]), None)

    def known_states(self) -> dict[int, tuple[int, int]]:
        """Return a map from the number of each step to its state and its next state."""
        pairs = zip(self.states, self.next_states, strict=True)
        return dict(zip(self.steps, pairs, strict=True)) if self.has_path else {}

    def parts(self, form: Form, spec: ProblemSpec) -> dict[Part, Any]:
        """Return the parts of this feedback with their content, if the episode has arrived as
        `form`; a whole episode can be divided into any form."""
        states = (*self.states, *self.next_states[-1:])
        if form == "whole":
            return {("whole", -1): (states, tuple(self.actions), tuple(self.rewards))}
        parts: dict[Part, Any] = {}
        if form == "steps":
            rows = zip(self.states, self.actions, self.next_states, self.rewards, strict=True)
            parts = {("step", step): row for step, row in zip(self.steps, rows, strict=True)}
        else:
            if self.has_path:
                parts["path", -1] = states, tuple(self.actions)
            paid = zip(self.steps, self.rewards, strict=True)
            parts |= {("reward", step): reward for step, reward in paid if reward is not None}
        end = self.end(spec)
        return parts if end is None or end[0] == spec.horizon else parts | {("end", end[0]): True}

    def only(self, form: Form, parts: Collection[Part]) -> "Columns":
        """Return the columns of those `parts` of an episode that has arrived as `form`."""
        if form == "whole":
            return self
        if form == "steps":
            rows = zip(self.states, self.actions, self.next_states, self.rewards, strict=True)
            by_step = zip(self.steps, rows, strict=True)
            return Columns.of_steps({step: row for step, row in by_step if ("step", step) in parts})
        paid = dict(zip(self.steps, self.rewards, strict=True))
        kept = {step: r for step, r in paid.items() if r is not None and ("reward", step) in parts}
        path = self._replace(form="path") if ("path", -1) in parts else None
        return Columns.of_rewards(kept, path)

    def content(self) -> dict[str, Any]:
        """Return the columns as content of feedback, as described in `belated.ledger.content`."""
        path = {"states": [*self.states, *self.next_states[-1:]], "actions": self.actions}
        if self.form == "whole":
            return {**path, "rewards": None if None in self.rewards else self.rewards}
        if self.form == "steps":
            names = ("step", "state", "action", "next_state", "reward")
            rows = zip(*self[1:6], strict=True)
            return {"steps": [dict(zip(names, row, strict=True)) for row in rows]}
        paid = zip(self.steps, self.rewards, strict=True)
        rewards = {str(step): reward for step, reward in paid if reward is not None}
        content: dict[str, Any] = {"path": path} if self.has_path else {}
        return {**content, "rewards": rewards} if rewards else content


def is_complete(feedback: Collection[Columns], spec: ProblemSpec) -> bool:
    """Return whether all steps of an episode have arrived with `feedback`, all of it."""
    if any(columns.form == "whole" for columns in feedback):
        return True
    ends = [end[0] for end in (columns.end(spec) for columns in feedback) if end is not None]
    arrived = {
        step
        for columns in feedback
        for step, reward in zip(columns.steps, columns.rewards, strict=True)
        if columns.form == "steps" or reward is not None
    }
    has_path = any(columns.has_path for columns in feedback)
    return has_path and len(arrived) >= min(ends, default=spec.horizon)


RecordedFeedback: TypeAlias = Sequence[tuple[int, Columns]]
"""Recorded feedback of an episode: the sequence number and the columns of each event."""

REMEDY: Final = (
    "; to replace all feedback of the episode, send a correction "
    "(POST /v1/episodes/{episode}/correction)."
)
"""Last part of the message of a conflict: how to replace the recorded feedback."""


def find_new(
    columns: Columns, recorded: RecordedFeedback, spec: ProblemSpec
) -> Columns | AlreadyRecorded | Conflict:
    """Return what is new in `columns`, feedback of an episode of which some is `recorded`.

    An episode keeps the form in which it first arrived. For example, a whole episode that arrives
    after some of its steps is recorded as the remaining steps.

    Parameters
    ----------
    columns : Columns
        The feedback; its padding is ignored.
    recorded : sequence
        Sequence number and columns of each event with valid feedback of the episode.
    spec : ProblemSpec
        Problem of the episode.

    Returns
    -------
    Columns, AlreadyRecorded or Conflict
        The new columns. AlreadyRecorded if nothing is new. Conflict if a part differs from the
        recorded part, if a step does not join its neighbours or follows the end of the episode, or
        if the episode has arrived in another form to which the feedback cannot be converted.
    """
    if not recorded:
        return columns
    form, known_form = columns.form, recorded[0][1].form
    if form != known_form and "whole" not in (form, known_form):
        names: dict[Form, str] = {"steps": "steps", "path": "path and rewards"}
        return Conflict(
            f"Feedback of this episode has already arrived as {names[known_form]}; send the "
            f"rest as {names[known_form]} too, not as {names[form]}.",
            min(seq for seq, _ in recorded),
        )
    shared = form if known_form == "whole" else known_form
    known = {
        part: (value, seq)
        for seq, each in recorded
        for part, value in each.parts(shared, spec).items()
    }
    last = max(seq for seq, _ in recorded)
    parts = _drop_padding(columns.parts(shared, spec), known, last)
    if isinstance(parts, Conflict):
        return parts
    # feedback that consists of padding repeats what is known
    new, seq = set(), 0 if parts else last
    for part, value in parts.items():
        if part not in known:
            new.add(part)
        elif known[part][0] != value:
            return Conflict(
                f"{_describe(part).capitalize()} has already arrived with different content"
                f"{REMEDY}",
                known[part][1],
            )
        else:
            seq = max(seq, known[part][1])
    if not new:
        return AlreadyRecorded(seq)
    rest = columns.only(shared, new)
    return _find_gap(rest, recorded, spec) or rest


def _find_gap(rest: Columns, recorded: RecordedFeedback, spec: ProblemSpec) -> Conflict | None:
    """Return a Conflict unless new steps join the recorded steps directly before and after them."""
    if rest.form != "steps":
        return None
    seqs = {step: seq for seq, each in recorded for step in each.steps}
    steps = rest.known_states()
    new = steps.keys()
    for _, each in recorded:
        steps = each.known_states() | steps
    before = find_break(steps, new)
    if before is None:
        return None
    number = before if before in seqs else before + 1
    return Conflict(
        f"Step {before} leads to {spec.states[steps[before][1]]!r}, but step {before + 1} begins "
        f"in {spec.states[steps[before + 1][0]]!r}; step {number} is recorded{REMEDY}",
        seqs[number],
    )


def compare_padding(
    padding: Sequence[PaddingStep], recorded: RecordedFeedback, spec: ProblemSpec
) -> Invalid | Conflict | None:
    """Compare padding with the recorded end of its episode.

    Returns Invalid if no end is recorded, Conflict if the recorded end is in another state than the
    padding or after a step of the padding, and None if the padding may follow the recorded end.
    """
    seq, end = _find_end(recorded, spec)
    for where, step, state in padding:
        field, name = f"{where}.state", spec.states[state]
        if end is None:
            return Invalid(
                f"{field} must not be a terminal state, got {name!r}, because no step that "
                "reaches it is recorded; send that step first, or in the same request.",
                field,
            )
        if not is_padding_after(end, step, state):
            return Conflict(
                f"The episode has ended in {spec.states[end[1]]!r} after "
                f"{count_items(end[0], 'step')}, which contradicts step {step} in {name!r}"
                f"{REMEDY}",
                seq,
            )
    return None


def _find_end(recorded: RecordedFeedback, spec: ProblemSpec) -> tuple[int, tuple[int, int] | None]:
    """Return the seq of the event with the end of an episode, and the end; (0, None) if none."""
    for seq, columns in recorded:
        end = columns.end(spec)
        if end is not None and (columns.form == "whole" or end[0] < spec.horizon):
            return seq, end
    return 0, None


def _drop_padding(
    parts: dict[Part, Any], known: dict[Part, tuple[Any, int]], last: int
) -> dict[Part, Any] | Conflict:
    """Return the new `parts` of an episode without rewards of 0 after its end, which are padding.

    Parameters
    ----------
    parts, known : dict
        New parts, and recorded parts with the seq of their events.
    last : int
        Seq of the last event with recorded feedback.

    Returns
    -------
    dict or Conflict
        The parts; all of them if neither new nor recorded parts contain the end. Conflict if a part
        other than padding follows the end, or if there is a part that marks a later end.
    """
    ends = [number for name, number in (*known, *parts) if name == "end"]
    if not ends:
        return parts
    end, kept = min(ends), dict(parts)
    for part in (*sorted(known), *parts):
        if part[1] < end or part == ("end", end):
            continue
        value, seq = known.get(part, (0, last))
        if parts.get(part, 0) != 0 or value != 0:
            return Conflict(
                f"The episode ends after {count_items(end, 'step')} in a terminal state, which "
                f"contradicts {_describe(part)}{REMEDY}",
                seq,
            )
        kept.pop(part, None)
    return kept


def find_repeated(
    columns: Columns, recorded: RecordedFeedback, spec: ProblemSpec
) -> AlreadyRecorded | None:
    """Return AlreadyRecorded if `columns` and their padding repeat `recorded` feedback, or None.

    Use this function to find out whether feedback repeats what a correction has replaced.
    """
    if columns.padding and compare_padding(columns.padding, recorded, spec) is not None:
        return None
    if not columns.steps:
        return AlreadyRecorded(max(seq for seq, _ in recorded))
    found = find_new(columns, recorded, spec)
    return found if isinstance(found, AlreadyRecorded) else None


def _describe(part: Part) -> str:
    name, number = part
    if name == "whole":
        return "the feedback of the episode"
    if name == "path":
        return "the path of the episode"
    if name == "end":
        return f"the end of the episode after {count_items(number, 'step')}"
    what = "step" if name == "step" else "the reward at step"
    return f"{what} {number} of the episode"


def count_items(count: int, noun: str = "item") -> str:
    """Return a text with the number `count` and the `noun`, in the singular or plural.

    >>> count_items(1), count_items(2, "step")
    ('1 item', '2 steps')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
