"""Feedback: each part of an episode counts once, however often and in whatever pieces it comes."""

from typing import Any

from belated.checks.ledger.samples import (
    Open,
    answers,
    at,
    defined,
    kinds,
    one,
    opened,
    path,
    seq,
    step,
    tell,
    whole,
)
from belated.checks.suite import require as hold
from belated.online.events import Corrected, Feedback
from belated.online.ledger import Ledger
from belated.online.outcomes import AlreadyRecorded, Conflict, Recorded, Refused, Unknown


def holds(ledger: Ledger, seq: int, content: Any) -> None:
    """Hold that this is what an event says."""
    body = at(ledger, seq).body
    hold(body == content, f"Event {seq} says {body}; it must say {content}.")


def records_repeats_once(open: Open) -> None:
    """The same feedback again is answered with the seq of the first, and adds nothing."""
    with open("repeats") as ledger:
        [episode] = opened(ledger, defined(ledger))
        first = seq(tell(ledger, episode, whole(7)))
        holds(ledger, first, whole(7))
        same = {name: tuple(values) for name, values in reversed(whole(7).items())}
        for again in (whole(7), same):
            outcome = tell(ledger, episode, again)
            hold(
                outcome == AlreadyRecorded(first),
                f"The ledger answers {outcome!r} to a repeat of event {first}.",
            )
        batch = ledger.append([Feedback(episode, whole(7))] * 2)
        hold(batch == [AlreadyRecorded(first)] * 2, f"The ledger answers {batch} to two repeats.")
        hold(
            ledger.last == first and list(ledger.quarantine) == [],
            "A repeat leaves something in the ledger or in the quarantine.",
        )


def judges_within_a_batch(open: Open) -> None:
    """Events of one call are held against each other, in their order."""
    with open("batch") as ledger:
        a, b = opened(ledger, defined(ledger), 2)
        before = ledger.last
        outcomes = ledger.append(
            [
                Feedback(a, whole(1)),
                Feedback(a, whole(1)),
                Feedback(a, whole(2)),
                Feedback(b, {"steps": [step(0, 3)]}),
                Feedback(b, {"steps": [step(0, 3), step(2, 3)]}),
                Corrected(b, whole(4)),
                Feedback(b, whole(4)),
            ]
        )
        got = [type(outcome) for outcome in outcomes]
        expected = [
            Recorded,
            AlreadyRecorded,
            Conflict,
            Recorded,
            Recorded,
            Recorded,
            AlreadyRecorded,
        ]
        hold(
            got == expected,
            f"A batch is answered {[kind.__name__ for kind in got]}; "
            f"it must be answered {[kind.__name__ for kind in expected]}.",
        )
        hold(ledger.last == before + 4, "A batch leaves more or less than what was recorded.")
        holds(ledger, before + 3, {"steps": [step(2, 3)]})


def refuses_contradictions(open: Open) -> None:
    """Other content for what has come is a conflict; it adds nothing, and is kept aside."""
    with open("conflicts") as ledger:
        [episode] = opened(ledger, defined(ledger))
        first = seq(tell(ledger, episode, whole(7)))
        for content in (whole(8), {"steps": [step(1, 40)]}):
            outcome = tell(ledger, episode, content)
            answers(outcome, Conflict, "feedback that contradicts another")
            hold(
                outcome.seq == first,  # type: ignore[union-attr]
                f"The ledger answers {outcome!r}; it must name event {first}.",
            )
        hold(ledger.last == first, "A contradiction leaves something in the ledger.")
        hold(
            [(refusal.episode, refusal.outcome) for refusal in ledger.quarantine]
            == [(episode, "conflict")] * 2,
            f"Two conflicts are kept aside as {list(ledger.quarantine)}.",
        )


def knows_its_episodes(open: Open) -> None:
    """Feedback of an episode that was never opened is unknown."""
    with open("unknown") as ledger:
        [episode] = opened(ledger, defined(ledger))
        before = ledger.last
        for id in (episode[::-1], episode.swapcase(), "", "nobody", "x" * 500, "\0", "\ud800"):
            answers(tell(ledger, id, whole()), Unknown, f"feedback of episode {id!r}")
            answers(one(ledger, Corrected(id, whole())), Unknown, f"a correction of {id!r}")
        hold(ledger.last == before, "Feedback of nobody leaves something in the ledger.")
        hold(
            {refusal.outcome for refusal in ledger.quarantine} == {"unknown"},
            "Feedback of nobody is not kept aside.",
        )


def takes_an_episode_in_pieces(open: Open) -> None:
    """Steps come in any order and in any company; what has come before is left out."""
    with open("pieces") as ledger:
        episode, other, third = opened(ledger, defined(ledger), 3)
        first = seq(tell(ledger, episode, {"steps": [step(2, 5)]}))
        second = seq(tell(ledger, episode, {"steps": [step(2, 5), step(0, 5)]}))
        holds(ledger, second, {"steps": [step(0, 5)]})
        outcome = tell(ledger, episode, {"steps": [step(2, 5), step(1, 6)], "more": 1})
        answers(outcome, Refused, "steps with something beside them")
        answers(tell(ledger, episode, {"steps": [step(1), step(2, 80)]}), Conflict, "another step")
        rest = seq(tell(ledger, episode, whole(5)))
        holds(ledger, rest, {"steps": [step(1, 5)]})
        for content in (whole(5), {"steps": [step(1, 5)]}, {"steps": [step(0, 5), step(2, 5)]}):
            answers(tell(ledger, episode, content), AlreadyRecorded, f"a repeat by {content}")
        for steps, by in (([2], first), ([0, 2], second), ([2, 1, 0], rest)):
            outcome = tell(ledger, episode, {"steps": [step(h, 5) for h in steps]})
            hold(
                outcome == AlreadyRecorded(by),
                f"A repeat of steps {steps}, all of which had come by event {by}, is {outcome!r}.",
            )
        answers(tell(ledger, other, whole(9)), Recorded, "a whole episode")
        answers(tell(ledger, other, {"steps": [step(1, 9)]}), AlreadyRecorded, "a step of that")
        answers(tell(ledger, third, {"path": path()}), Refused, "a path where all is late")


def takes_rewards_later(open: Open) -> None:
    """Where rewards are late, a path and its rewards come apart, in any order."""
    with open("rewards") as ledger:
        a, b, c = opened(ledger, defined(ledger, late="rewards"), 3)
        rewards = {str(h): r for h, r in enumerate(whole(5)["rewards"])}
        seq(tell(ledger, a, {"rewards": {"1": rewards["1"]}}))
        told = seq(tell(ledger, a, {"path": path(5), "rewards": {0: rewards["0"]}}))
        holds(ledger, told, {"path": path(5), "rewards": {"0": rewards["0"]}})
        answers(tell(ledger, a, {"rewards": {"0": 0.125}}), Conflict, "another reward")
        answers(tell(ledger, a, {"path": path(50)}), Conflict, "another path")
        answers(tell(ledger, a, {"steps": [step(0, 5)]}), Conflict, "a step beside a path")
        rest = seq(tell(ledger, a, whole(5)))
        holds(ledger, rest, {"rewards": {"2": rewards["2"]}})
        answers(tell(ledger, a, {"rewards": rewards}), AlreadyRecorded, "known rewards")
        seq(tell(ledger, b, whole(6)))
        answers(tell(ledger, b, {"path": path(6)}), AlreadyRecorded, "the path of a known whole")
        seq(tell(ledger, c, {"steps": [step(0, 7)]}))
        answers(tell(ledger, c, {"path": path(7)}), Conflict, "a path beside a step")


def refuses_what_is_malformed(open: Open) -> None:
    """What no episode of the problem could have been is refused, with the field."""
    with open("malformed") as ledger:
        [episode] = opened(ledger, defined(ledger))
        before = ledger.last
        cases: tuple[tuple[str | None, Any], ...] = (
            (None, None),
            (None, {}),
            ("states", {**whole(), "states": [0, 0]}),
            ("states[1]", {**whole(), "states": [0, 3, 0, 0]}),
            ("states[1]", {**whole(), "states": [0, -1, 0, 0]}),
            ("actions[0]", {**whole(), "actions": [True, 0, 0]}),
            ("actions[2]", {**whole(), "actions": [0, 0, 0.0]}),
            ("rewards[0]", {**whole(), "rewards": [1.5, 0, 0]}),
            ("rewards[1]", {**whole(), "rewards": [0, float("nan"), 0]}),
            ("rewards", {**whole(), "rewards": None}),
            ("steps", {"steps": []}),
            ("steps[0].step", {"steps": [{**step(0), "step": 3}]}),
            ("steps[1]", {"steps": [step(0), {**step(0), "reward": 0.75}]}),
            ("steps[0].reward", {"steps": [{**step(0), "reward": None}]}),
            ("steps[0].state", {"steps": [{"step": 0, "action": 0, "next_state": 0}]}),
        )
        for field, content in cases:
            outcome = tell(ledger, episode, content)
            answers(outcome, Refused, f"feedback {content}")
            reason = outcome.reason  # type: ignore[union-attr]
            hold(
                outcome.field == field  # type: ignore[union-attr]
                and (field or "content") in reason
                and reason.endswith(".")
                and "\n" not in reason,
                f"Feedback {content} is refused with {outcome!r}; "
                f"the reason must be one sentence that names {field or 'content'}.",
            )
        hold(ledger.last == before, "What is malformed leaves something in the ledger.")
        aside = [refusal.reason for refusal in ledger.quarantine]
        hold(
            len(aside) == len(cases),
            f"Of {len(cases)} refusals, {len(aside)} are kept aside.",
        )


def lets_the_last_correction_hold(open: Open) -> None:
    """A correction replaces what came before; a repeat of that, come late, changes nothing."""
    with open("corrections") as ledger:
        episode, silent = opened(ledger, defined(ledger), 2)
        first = seq(tell(ledger, episode, {"steps": [step(0, 1), step(1, 1)]}))
        answers(
            one(ledger, Corrected(episode, {"steps": [step(0, 2)]})), Refused, "half a correction"
        )
        fixed = seq(one(ledger, Corrected(episode, whole(2))))
        holds(ledger, fixed, whole(2))
        for event in (Corrected(episode, whole(2)), Feedback(episode, whole(2))):
            outcome = one(ledger, event)
            hold(
                outcome == AlreadyRecorded(fixed),
                f"The ledger answers {outcome!r} to {event}, which repeats event {fixed}.",
            )
        outcome = tell(ledger, episode, {"steps": [step(0, 1)]})
        hold(
            outcome == AlreadyRecorded(first),
            f"The ledger answers {outcome!r} to a repeat of event {first}, corrected since.",
        )
        answers(tell(ledger, episode, whole(3)), Conflict, "feedback against a correction")
        seq(one(ledger, Corrected(episode, whole(4))))
        answers(one(ledger, Corrected(episode, whole(2))), Conflict, "a correction corrected since")
        seq(one(ledger, Corrected(episode, whole(2), event_time=7)))
        seq(one(ledger, Corrected(silent, whole(9))))
        answers(tell(ledger, silent, whole(8)), Conflict, "what was corrected before it came")
        hold(
            kinds(ledger).count("corrected") == 4,
            f"Four corrections are recorded as {kinds(ledger).count('corrected')}.",
        )
