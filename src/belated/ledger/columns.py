"""Columns: the one form of the steps of an episode, from the parser to the learner."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from belated.ledger.problems import ProblemSpec

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

    def rows(self) -> dict[int, tuple[Any, Any, Any, float | None]]:
        """Return a map from the number of each step to its state, action, next state and reward."""
        rows = zip(self.states, self.actions, self.next_states, self.rewards, strict=True)
        return dict(zip(self.steps, rows, strict=True))

    def known_rewards(self) -> dict[int, float]:
        """Return a map from the number of each step to its reward, without those that are None."""
        paid = zip(self.steps, self.rewards, strict=True)
        return {step: reward for step, reward in paid if reward is not None}

    def known_states(self) -> dict[int, tuple[int, int]]:
        """Return a map from the number of each step to its state and its next state."""
        return {step: (row[0], row[2]) for step, row in self.rows().items() if self.has_path}

    def parts(self, form: Form, spec: ProblemSpec) -> dict[Part, Any]:
        """Return the parts of this feedback with their content, if the episode has arrived as
        `form`; a whole episode can be divided into any form."""
        states = (*self.states, *self.next_states[-1:])
        if form == "whole":
            return {("whole", -1): (states, tuple(self.actions), tuple(self.rewards))}
        parts: dict[Part, Any]
        if form == "steps":
            parts = {("step", step): row for step, row in self.rows().items()}
        else:
            parts = {("path", -1): (states, tuple(self.actions))} if self.has_path else {}
            parts |= {("reward", step): reward for step, reward in self.known_rewards().items()}
        end = self.end(spec)
        return parts if end is None or end[0] == spec.horizon else parts | {("end", end[0]): True}

    def only(self, form: Form, parts: Collection[Part]) -> "Columns":
        """Return the columns of those `parts` of an episode that has arrived as `form`."""
        if form == "whole":
            return self
        if form == "steps":
            rows = self.rows().items()
            return Columns.of_steps({step: row for step, row in rows if ("step", step) in parts})
        paid = self.known_rewards().items()
        path = self._replace(form="path") if ("path", -1) in parts else None
        return Columns.of_rewards({h: r for h, r in paid if ("reward", h) in parts}, path)

    def content(self) -> dict[str, Any]:
        """Return the columns as content of feedback, as described in `belated.ledger.content`."""
        path = {"states": [*self.states, *self.next_states[-1:]], "actions": self.actions}
        if self.form == "whole":
            return {**path, "rewards": None if None in self.rewards else self.rewards}
        if self.form == "steps":
            names = ("step", "state", "action", "next_state", "reward")
            rows = ((step, *row) for step, row in self.rows().items())
            return {"steps": [dict(zip(names, row, strict=True)) for row in rows]}
        rewards = {str(step): reward for step, reward in self.known_rewards().items()}
        content: dict[str, Any] = {"path": path} if self.has_path else {}
        return {**content, "rewards": rewards} if rewards else content


def is_complete(feedback: Collection[Columns], spec: ProblemSpec) -> bool:
    """Return whether all steps of an episode have arrived with `feedback`, all of it."""
    if any(columns.form == "whole" for columns in feedback):
        return True
    ends = [end[0] for end in (columns.end(spec) for columns in feedback) if end is not None]
    arrived: set[int] = set()
    for columns in feedback:
        arrived |= {*columns.steps} if columns.form == "steps" else {*columns.known_rewards()}
    has_path = any(columns.has_path for columns in feedback)
    return has_path and len(arrived) >= min(ends, default=spec.horizon)


def count_items(count: int, noun: str = "item") -> str:
    """Return a text with the number `count` and the `noun`, in the singular or plural.

    >>> count_items(1), count_items(2, "step")
    ('1 item', '2 steps')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
