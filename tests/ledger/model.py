"""A ledger as a list in memory: the rules once more, in the plainest words."""

from typing import Any

from belated.ledger import Corrected, Feedback, Opened, ProblemSpec, Published, Tick, Withdrawn

Fact = tuple[Any, ...]


def steps_of(body: dict[str, Any]) -> set[Fact]:
    """(h, s, a, y, r) of a whole episode or of steps."""
    if "steps" in body:
        return {
            (one["step"], one["state"], one["action"], one["next_state"], one.get("reward"))
            for one in body["steps"]
        }
    states, rewards = body["states"], body.get("rewards") or [None] * len(body["actions"])
    return {(h, states[h], a, states[h + 1], rewards[h]) for h, a in enumerate(body["actions"])}


def trace_of(body: dict[str, Any]) -> set[Fact]:
    """The path, and (h, r) of each reward."""
    path = body.get("path", body if "states" in body else None)
    rewards = body.get("rewards") or {}
    paid = rewards if isinstance(rewards, dict) else dict(enumerate(rewards))
    facts: set[Fact] = {("reward", int(h), r) for h, r in paid.items()}
    return facts | ({("path", *path["states"], *path["actions"])} if path else set())


def form(body: dict[str, Any]) -> str:
    """How it comes."""
    return "whole" if "states" in body else "steps" if "steps" in body else "path"


class Model:
    """Model of the ledger, one event at a time; feedback is assumed to be well-formed."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        self.specs: dict[int, ProblemSpec] = {}
        self.episodes: dict[str, dict[str, Any]] = {}
        self.versions: dict[int, list[int]] = {}
        self.ticked: dict[int, int] = {}
        self.refused = 0

    def write(self, kind: str, problem: int, episode: str | None, body: Any) -> str:
        self.log.append(
            {"kind": kind, "problem": problem, "episode": episode, "body": body, "redacted": False}
        )
        return "Recorded"

    def define(self, spec: ProblemSpec) -> str:
        for known in self.specs.values():
            if known.name == spec.name:
                return "AlreadyRecorded" if known.text == spec.text else "Conflict"
        problem = len(self.log) + 1
        self.specs[problem], self.versions[problem], self.ticked[problem] = spec, [], 0
        return self.write("defined", problem, None, spec.body)

    def publish(self, event: Published, policy: int) -> str:
        versions = self.versions[event.problem]
        if event.version <= len(versions):
            return "AlreadyRecorded" if versions[event.version - 1] == policy else "Conflict"
        if event.version > len(versions) + 1:
            return "Invalid"
        versions.append(policy)
        return self.write("published", event.problem, None, {"version": event.version})

    def open(self, event: Opened) -> str:
        assert event.id is not None
        known = self.episodes.get(event.id)
        if known is not None:
            if known["withdrawn"]:
                return "DataWithdrawn"
            same = (known["problem"], known["subject"]) == (event.problem, event.subject)
            return "AlreadyRecorded" if same else "Conflict"
        if event.version > len(self.versions[event.problem]):
            return "Invalid"
        others = [e for e in self.episodes.values() if e["problem"] == event.problem]
        self.episodes[event.id] = {
            "problem": event.problem,
            "subject": event.subject,
            "withdrawn": False,
            "now": [],  # the bodies that count
            "old": [],  # those that were corrected
        }
        body = {"number": len(others) + 1, "version": event.version}
        return self.write("opened", event.problem, event.id, body)

    def hear(self, event: Feedback) -> str:
        known = self.episodes.get(event.episode)
        if known is None or known["withdrawn"]:
            self.refused += 1
            return "NotFound" if known is None else "DataWithdrawn"
        correction = isinstance(event, Corrected)
        outcome, body = self.judge(known, event.content)
        if outcome == "Conflict" and not correction:
            outcome = self.late_repeat(known, event.content)
        if correction and outcome != "AlreadyRecorded":
            outcome, body = "Recorded", event.content
        if correction and outcome == "Recorded":
            if ("corrected", event.content, event.event_time) in known["old"]:
                outcome = "Conflict"
            else:
                known["old"] += known["now"]
                known["now"] = []
        if outcome == "Recorded":
            known["now"].append((event.kind, body, event.event_time))
            return self.write(event.kind, known["problem"], event.episode, body)
        if outcome == "Conflict":
            self.refused += 1
        return outcome

    def judge(self, known: dict[str, Any], body: dict[str, Any]) -> tuple[str, Any]:
        """Whether it is new, and what of it."""
        now = [earlier for _, earlier, _ in known["now"]]
        if not now:
            return "Recorded", body
        forms = {form(body), *map(form, now)}
        facts_of = trace_of if "path" in forms else steps_of
        if forms >= {"steps", "path"}:
            return "Conflict", None
        have = set().union(*map(facts_of, now))
        brought = facts_of(body)
        if brought <= have:
            return "AlreadyRecorded", None
        places = {self.place(fact) for fact in have}
        new = brought - have
        if any(self.place(fact) in places for fact in new):
            return "Conflict", None
        if facts_of is steps_of:  # each step begins where the one before it leads
            after = {step: successor for step, _, _, successor, _ in have | new}
            if any(after.get(step - 1, state) != state for step, state, *_ in have | new):
                return "Conflict", None
        return "Recorded", self.rest(new)

    @staticmethod
    def place(fact: Fact) -> Any:
        """Return the parts of an episode, each of which may arrive once."""
        return fact[:2] if fact[0] == "reward" else fact[0]

    @staticmethod
    def late_repeat(known: dict[str, Any], body: dict[str, Any]) -> str:
        old = [earlier for _, earlier, _ in known["old"]]
        old_steps = [steps_of(earlier) for earlier in old if form(earlier) != "path"]
        old_traces = [trace_of(earlier) for earlier in old if form(earlier) != "steps"]
        as_steps = form(body) != "path" and steps_of(body) <= set().union(*old_steps)
        as_trace = form(body) != "steps" and trace_of(body) <= set().union(*old_traces)
        return "AlreadyRecorded" if as_steps or as_trace else "Conflict"

    @staticmethod
    def rest(new: set[Fact]) -> dict[str, Any]:
        """Feedback that brings only these."""
        names = ("step", "state", "action", "next_state", "reward")
        steps = [fact for fact in new if isinstance(fact[0], int)]
        if steps:
            return {"steps": [dict(zip(names, fact, strict=True)) for fact in sorted(steps)]}
        body: dict[str, Any] = {}
        for fact in new:
            if fact[0] == "path":
                half = len(fact) // 2 + 1
                body["path"] = {"states": list(fact[1:half]), "actions": list(fact[half:])}
            else:
                body.setdefault("rewards", {})[str(fact[1])] = fact[2]
        return body

    def withdraw(self, event: Withdrawn) -> str:
        if event.episode is not None:
            if event.episode not in self.episodes:
                return "NotFound"
            if self.episodes[event.episode]["withdrawn"]:
                return "AlreadyRecorded"
            ids = [event.episode]
        else:
            wanted = (event.problem, event.subject)
            ids = [id for id, e in self.episodes.items() if (e["problem"], e["subject"]) == wanted]
            if not ids:
                return "NotFound"
        for id in ids:
            self.episodes[id] |= {"withdrawn": True, "subject": None}
        for line in self.log:
            if line["episode"] in ids and line["kind"] in ("feedback", "corrected"):
                line |= {"body": None, "redacted": True}
        problem = self.episodes[ids[0]]["problem"]
        return self.write("withdrawn", problem, None, {"episodes": ids})

    def tick(self, event: Tick) -> str:
        upto = len(self.log) if event.upto is None else event.upto
        done = self.ticked[event.problem]
        if upto == done:
            return "AlreadyRecorded"
        if not done < upto <= len(self.log):
            return "Invalid"
        self.ticked[event.problem] = upto
        return self.write("tick", event.problem, None, {"upto": upto})
