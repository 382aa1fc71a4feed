"""Fold: learner state of a problem, computed by applying the events of the problem in order.

    opened                 the learner starts the episode
    feedback, corrected    the feedback is queued until the next tick
    tick                   the learner absorbs the queued feedback at once, and may plan
    lost                   the episode is no longer missing in the status

A fold depends on the events alone: a fold that is restored from a snapshot continues with
bit-identical results. When the feedback of an episode is complete, the episode is added to the
statistics in the history, and its own record is deleted.
"""

import json
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from belated.check import check_integer, check_range
from belated.episode import Policy
from belated.learner.feedback import Feedback, concatenate, rewards_of
from belated.learner.learner import Learner
from belated.learner.snapshot import damage_errors
from belated.ledger.content import Columns, parse_content
from belated.ledger.events import Event, Exclusions, Kind
from belated.ledger.policies import encode_policy
from belated.ledger.problems import ProblemSpec
from belated.online.history import History, OpenEpisode
from belated.online.learner_factory import build_base, build_learner, build_updater
from belated.padding import RepetitionWatch
from belated.reward_map import Affine

LOG: Final = logging.getLogger("belated.service")

FORMAT: Final = 7
"""Version of the format of snapshots; snapshots in another format are ignored."""


class DamagedEventError(ValueError):
    """Error because an event cannot be applied, for example because its content was damaged.

    Parameters
    ----------
    seq : int
        Sequence number of the event.
    reason : Exception or str
        Reason why the event cannot be applied.
    """

    def __init__(self, seq: int, reason: Exception | str) -> None:
        if isinstance(reason, Exception):
            kind = "" if isinstance(reason, ValueError) else f"{type(reason).__name__}: "
            reason = f"{kind}{reason}"
        super().__init__(f"Event {seq} cannot be applied. {reason}")


class WaitingFeedback(NamedTuple):
    """Feedback that is queued until the next tick."""

    seq: int
    """Sequence number of the feedback event."""
    episode: str
    """Id of the episode."""
    text: str
    """Content of the feedback as JSON."""
    at: int
    """Time at which the feedback was recorded, in microseconds since 1970 (UTC)."""
    opened: int
    """Number of episodes that had been opened when the feedback was recorded."""
    happened_at: int
    """Time at which the feedback originated, in microseconds since 1970 (UTC)."""


class PublishedVersion(NamedTuple):
    """Newest published version of a problem, and whether it is the current policy."""

    version: int = 0
    """Number of the version; 0 if none is published."""
    sha: str = ""
    """Digest of its policy."""
    is_current: bool = False
    """Whether the learner's policy has not changed since the publication."""


class Fold:
    """Learner of one problem, and its state computed by applying events in order.

    Parameters
    ----------
    spec : ProblemSpec
        The problem.
    exclusions : Exclusions, optional
        Events to skip; by default none. They must include what the corrections and withdrawals that
        will be applied exclude.
    """

    def __init__(self, spec: ProblemSpec, exclusions: Exclusions | None = None) -> None:
        self.spec = spec
        self.learner = build_learner(spec)
        self.history = History()
        self.exclusions = exclusions or Exclusions()
        self.seq = 0
        """Sequence number of the last applied event; 0 if there is none."""
        self.tick: int | None = None
        """Sequence number of the last applied tick; None if there is none."""
        self._ticked_upto = 0  # seq of the last event that the last tick covers
        self._last_news = 0  # seq of the last event that makes a tick due
        self.in_flight: dict[str, OpenEpisode] = {}
        """Episodes in flight by id, in order of arrival, including lost episodes and those whose
        last feedback is still queued."""
        self.lost: dict[str, int] = {}
        """Map from the id of each lost episode, whose feedback is no longer expected, to the number
        of episodes that had been opened when it was lost."""
        self.waiting: list[WaitingFeedback] = []
        """Feedback that is queued until the next tick."""
        self._newest = PublishedVersion()
        self._watch = RepetitionWatch(spec.shape)

    @property
    def policy(self) -> Policy:
        """Policy of the learner as of the last tick."""
        return self.learner.policy

    @property
    def due(self) -> bool:
        """Whether a tick is due, because feedback or a withdrawal follows the last batch."""
        return self._last_news > self._ticked_upto

    @property
    def due_at(self) -> int | None:
        """Time at which a tick is due even without news, in microseconds since 1970 (UTC).

        None if there is no such time, because the updater does not depend on the time of day, or no
        feedback waits for it.
        """
        return self.learner.next_change_us

    def apply(self, event: Event) -> None:
        """Apply `event`, the next event of the problem.

        Raises ValueError if the seq of `event` does not exceed the seq of the last applied event.
        Raises DamagedEventError if `event` is damaged, or if `event` is a tick and feedback in its
        batch is damaged; the message contains the seq of the damaged event. After any exception,
        the fold must be discarded.
        """
        if event.seq <= self.seq:
            raise ValueError(
                f"Events must be applied in increasing order of seq, got {event.seq} after "
                f"{self.seq}."
            )
        try:
            if event.kind not in APPLY:
                raise ValueError(f"Its kind is unknown: {event.kind!r}.")
            APPLY[event.kind](self, event)
        except DamagedEventError:
            raise
        except Exception as error:
            raise DamagedEventError(event.seq, error) from error
        self.seq = event.seq

    def _open(self, event: Event) -> None:
        assert event.episode is not None
        if event in self.exclusions:
            return
        body = event.body
        number, version = body["number"], body["version"]
        # an episode may follow an older version, or the policy before one not yet published
        follows_plan = self._newest.is_current and version == self._newest.version
        opened_at = event.happened_at
        self.learner.begin(number, opened_us=max(0, opened_at), follows_plan=follows_plan)
        if self.history.opened == self.spec.episodes:
            LOG.warning(
                "Problem %s: episode %d was opened, but its bonuses are computed for episodes=%d.",
                *(self.spec.name, self.spec.episodes + 1, self.spec.episodes),
            )
        place = self.history.opened + 1
        episode = OpenEpisode(number, opened_at, event.at, version, place)
        self.in_flight[event.episode] = episode
        self.history.add_opening(episode)

    def _queue(self, event: Event) -> None:
        if event in self.exclusions:
            return
        assert event.episode is not None
        assert event.text is not None
        if self.lost:
            self.lost.pop(event.episode, None)
        opened = self.history.opened
        self.waiting.append(
            WaitingFeedback(
                event.seq, event.episode, event.text, event.at, opened, event.happened_at
            )
        )
        self._last_news = event.seq

    def _lose(self, event: Event) -> None:
        if event.episode in self.in_flight:
            self.lost[event.episode] = self.history.opened

    def _withdraw(self, event: Event) -> None:
        self._last_news = event.seq  # the data are among the exclusions

    def _publish(self, event: Event) -> None:
        body = event.body
        self._newest = PublishedVersion(body["version"], body["sha"], is_current=True)

    def _ignore(self, event: Event) -> None:
        """Do nothing: the learner does not depend on events of this kind."""

    def _tick(self, event: Event) -> None:
        upto = check_integer("upto", event.body["upto"], self._ticked_upto)
        check_range("upto", upto, 0, event.seq - 1)
        place = bisect_right(self.waiting, upto, key=attrgetter("seq"))
        batch, self.waiting = self.waiting[:place], self.waiting[place:]
        feedback = self._convert(batch)
        changed = self.learner.absorb(feedback, now_us=event.at, checked=True)
        if changed and self.learner.updater.needs_start:
            is_current = self._newest.sha == encode_policy(self.policy).sha
            self._newest = self._newest._replace(is_current=is_current)
        self._warn_of_repetitions(feedback)
        by_number = {}
        for item in batch:
            episode = self.in_flight[item.episode]
            by_number[episode.number] = episode
            episode.last_feedback_at = max(episode.last_feedback_at, item.happened_at)
        for number, reward_sum in sum_rewards(feedback, self.spec):
            by_number[number].reward_sum += reward_sum
        self._remove_complete(batch)
        self.tick, self._ticked_upto = event.seq, upto

    def _convert(self, batch: list[WaitingFeedback]) -> list[Feedback]:
        """Return the feedback in `batch` as the learner absorbs it.

        Raises DamagedEventError if an event is damaged: if its content is not valid, or if its
        episode is not in flight.
        """
        feedback: list[Feedback] = []
        paths: dict[int, Feedback | None] = {}
        for item in batch:
            try:
                if item.episode not in self.in_flight:
                    raise ValueError("Its episode is not in flight.")
                episode = self.in_flight[item.episode]
                if episode.number not in paths:
                    pending = self.learner.pending(episode.number)
                    paths[episode.number] = None if pending is None else pending.path
                columns = parse_content(json.loads(item.text), self.spec)
                for part in convert_feedback(
                    columns, episode, paths[episode.number], self.spec.reward_map
                ):
                    if not part.delayed:
                        paths[episode.number] = part
                    feedback.append(part)
            except Exception as error:
                raise DamagedEventError(item.seq, error) from error
        return feedback

    def _warn_of_repetitions(self, feedback: list[Feedback]) -> None:
        """Log a warning if many episodes seem to end in states that are not defined as terminal.

        An episode seems to end in a state if it stays in this state, without a reward, up to its
        last step; see `RepetitionWatch`. Whole episodes in `feedback` are added to those seen
        before. The warning is logged at most once.
        """
        spec, horizon = self.spec, self.spec.horizon
        whole = [
            item
            for item in feedback
            if item.delayed and item.transitions and item.steps.size == horizon
        ]
        known = None if spec.rewards is None else np.broadcast_to(spec.rewards, spec.shape.table)
        if self._watch.see(whole, known):
            LOG.warning(
                "Problem %s: episodes repeat one state to the end (%s), and none leaves it. If "
                "episodes end there, define a problem with these states as terminal.",
                spec.name,
                ", ".join(spec.states[state] for state in self._watch.suspects),
            )

    def _remove_complete(self, batch: list[WaitingFeedback]) -> None:
        """Move the episodes whose feedback became complete with `batch` to the history."""
        # an episode with several feedback events in the batch is complete at the last of them
        for item in {item.episode: item for item in batch}.values():
            episode = self.in_flight[item.episode]
            if self.learner.pending(episode.number) is None:
                del self.in_flight[item.episode]
                self.history.add_return(
                    episode, recorded_at=item.at, episodes=item.opened - episode.place
                )

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the fold: nested dicts and lists of arrays, numbers and texts."""
        return {
            "format": FORMAT,
            "spec": self.spec.text,
            "learner": self.learner.snapshot(),
            "history": self.history.snapshot(),
            "seq": self.seq,
            "tick": self.tick,
            "ticked_upto": self._ticked_upto,
            "last_news": self._last_news,
            "in_flight": [[id, *each.snapshot()] for id, each in self.in_flight.items()],
            "waiting": [list(item) for item in self.waiting],
            "lost": [list(item) for item in self.lost.items()],
            "newest": list(self._newest),
        }

    @classmethod
    @damage_errors()
    def restore(
        cls, spec: ProblemSpec, state: dict[str, Any], exclusions: Exclusions | None = None
    ) -> "Fold":
        """Restore a fold from a snapshot. It continues with bit-identical results.

        Parameters
        ----------
        spec : ProblemSpec
            The problem.
        state : dict
            Snapshot, as returned by `snapshot`.
        exclusions : Exclusions, optional
            Events to skip among those that will be applied; by default none.

        Returns
        -------
        Fold
            The restored fold.

        Raises
        ------
        ValueError
            If the snapshot has another format, belongs to another problem or is damaged.
        """
        if state.get("format") != FORMAT:
            raise ValueError(f"state must have format {FORMAT}, got {state.get('format')!r}.")
        if state["spec"] != spec.text:
            raise ValueError("state must be a snapshot of the same problem; its spec differs.")
        self = cls.__new__(cls)
        self.spec = spec
        self.learner = Learner.restore(
            state["learner"], base=build_base(spec), updater=build_updater(spec)
        )
        if self.learner.shape != spec.shape:
            raise ValueError(f"The learner must have {spec.shape}, got {self.learner.shape}.")
        self.history = History.restore(state["history"])
        self.exclusions = exclusions or Exclusions()
        self.tick = None if state["tick"] is None else check_integer("tick", state["tick"], 1)
        self.seq, self._ticked_upto, self._last_news = (
            check_integer(name, state[name], 0) for name in ("seq", "ticked_upto", "last_news")
        )
        self.in_flight = {}
        for id, *row in state["in_flight"]:
            episode = self.in_flight[id] = OpenEpisode.restore(row, spec.horizon)
            if self.learner.pending(episode.number) is None:
                raise ValueError(f"Episode {episode.number} must be pending in the learner.")
        self.waiting = [WaitingFeedback(*item) for item in state["waiting"]]
        self.lost = {}
        for id, opened in state["lost"]:
            if id not in self.in_flight:
                raise ValueError("A lost episode must be in flight.")
            check_range(
                "episodes opened", check_integer("opened", opened, 0), 0, self.history.opened
            )
            self.lost[id] = opened
        self._newest = PublishedVersion(*state["newest"])
        self._watch = RepetitionWatch(spec.shape)
        return self


APPLY: Final[dict[Kind, Callable[[Fold, Event], None]]] = {
    "defined": Fold._ignore,
    "opened": Fold._open,
    "feedback": Fold._queue,
    "corrected": Fold._queue,
    "lost": Fold._lose,
    "withdrawn": Fold._withdraw,
    "tick": Fold._tick,
    "published": Fold._publish,
    "control": Fold._ignore,
}
"""Map from the kind of an event to the method that applies it, for each of `ledger.kinds.KINDS`."""


def convert_feedback(
    columns: Columns, episode: OpenEpisode, path: Feedback | None, reward_map: Affine
) -> Iterator[Feedback]:
    """Yield valid feedback of `episode` as the learner absorbs it, with rewards in [0, 1].

    Rewards that arrive before the path are stored in `episode.early_rewards`, and yielded when the
    path arrives.

    Parameters
    ----------
    columns : Columns
        The feedback.
    episode : OpenEpisode
        Its episode.
    path : Feedback or None
        Path of the episode, if it arrived before `columns`.
    reward_map : Affine
        Map between rewards in [0, 1] and rewards in the units of the problem.
    """
    if columns.has_path:
        steps, states, actions, successors = (np.array(each, np.int64) for each in columns[1:5])
        arrived = Feedback(episode.number, steps, states, actions, successors, None)
        if columns.form == "path":
            path = arrived._replace(delayed=False)
            yield path
        elif columns.steps:  # not only padding
            if None not in columns.rewards:
                rewards = np.array(columns.rewards, np.float64)
                arrived = arrived._replace(rewards=reward_map.unit(rewards))
            yield arrived
    if columns.form != "path":
        return
    episode.early_rewards |= columns.known_rewards()
    if path is None or not episode.early_rewards:
        return
    due = np.full(path.steps.size, np.nan)
    for step, reward in episode.early_rewards.items():
        # rewards after the end of the episode, which are 0, may have arrived before the path
        if step < due.size:
            due[step] = reward
    episode.early_rewards = {}
    if not np.isnan(due).all():
        yield rewards_of(path, reward_map.unit(due))


def sum_rewards(feedback: list[Feedback], spec: ProblemSpec) -> Iterator[tuple[int, float]]:
    """Yield the sum of rewards of each item of `feedback` that contains rewards.

    All sums are computed with one call of NumPy. One call for each item would take as long as the
    learner itself.

    Parameters
    ----------
    feedback : list of Feedback
        Feedback that the learner absorbs.
    spec : ProblemSpec
        The problem. If its mean rewards are known, they are summed instead of the rewards in
        `feedback`.

    Yields
    ------
    tuple[int, float]
        Number of the episode, which is its id in the learner, and sum of rewards in the units of
        the problem.
    """
    rewarded = [item for item in feedback if item.delayed]
    if not rewarded:
        return
    columns = concatenate(rewarded)
    if spec.rewards is not None:
        known = np.broadcast_to(spec.rewards, spec.shape.table)
        each = known[columns.steps, columns.states, columns.actions]
    else:
        assert columns.rewards is not None
        each = spec.reward_map.original(columns.rewards)
    starts = np.cumsum([0, *(item.steps.size for item in rewarded[:-1])])
    sums = np.add.reduceat(each, starts)
    yield from zip((item.id for item in rewarded), sums.tolist(), strict=True)
