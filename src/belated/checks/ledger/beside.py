"""What is kept beside the events: refusals and tokens."""

from belated.checks.ledger.samples import Open, defined, opened, tell, whole
from belated.checks.suite import require as hold
from belated.online.quarantine import Rejection


def keeps_refusals_aside(open: Open) -> None:
    """What was refused is kept with its reason, once, however often it comes."""
    with open("quarantine") as ledger:
        problem = defined(ledger)
        [episode] = opened(ledger, problem)
        odd = {"states": "é\0\ud800", "rewards": float("inf")}
        for _ in range(3):
            tell(ledger, episode, odd)
        tell(ledger, "nobody", whole(1))
        ledger.quarantine.add("The body is no JSON.", "{", problem=problem)
        found = list(ledger.quarantine)
        hold(
            [(r.problem, r.episode, r.outcome, r.times) for r in found]
            == [
                (problem, episode, "refused", 3),
                (None, None, "unknown", 1),
                (problem, None, "refused", 1),
            ],
            f"Three refusals, the first of them three times, are kept as {found}.",
        )
        first, second, third = found
        hold(
            "states" in first.reason and "nobody" in second.reason and third.text == '"{"',
            f"Refusals are kept as {found}; each must tell what was refused and why.",
        )
        read = ledger.quarantine.read
        hold(
            [*read(limit=1), *read(after=first.id)] == found
            and list(read(problem)) == [first, third],
            f"Refusals {found} are not read in pieces, or by problem, as they are read at once.",
        )
        hold(
            ledger.quarantine.forget(before=first.at) == 0
            and ledger.quarantine.forget(before=third.at + 1) == 3
            and list(ledger.quarantine) == [],
            "Old refusals cannot be forgotten, or new ones are.",
        )
        ledger.quarantine.add_all(Rejection(why, odd, episode=episode) for why in ("a", "b"))
        hold(
            [(r.problem, r.reason) for r in read()] == [(problem, "a"), (problem, "b")],
            f"Two refusals of an episode that are added together are kept as {list(read())}.",
        )
        ledger.withdraw(episode=episode)
        ledger.quarantine.add("c", odd, episode=episode)
        hold(
            [(r.outcome, r.text) for r in read()] == [("gone", None)],
            f"Of an episode that was withdrawn, {list(read())} is kept aside; only that something "
            "came may be.",
        )


def keeps_tokens(open: Open) -> None:
    """A token is kept by the hash of its secret, until it is revoked, and after."""
    with open("tokens") as ledger:
        problem = defined(ledger)
        made = [
            ledger.tokens.add("one", b"\0hash", scopes=["feedback", "decide"]),
            ledger.tokens.add("two", b"other", scopes=["admin"], problem=problem),
        ]
        hold(
            (made[0].scopes, made[0].problem, made[1].problem)
            == (("decide", "feedback"), None, problem),
            f"Tokens are made as {made}.",
        )
        hold(
            [ledger.tokens.get(token.id) for token in made] == made
            and sorted(ledger.tokens.all(), key=lambda token: token.id) == made
            and ledger.tokens.get("three") is None,
            f"Tokens {made} are known as {ledger.tokens.all()}.",
        )
        hold(
            ledger.tokens.revoke("one")
            and not ledger.tokens.revoke("one")
            and not ledger.tokens.revoke("three"),
            "A token is revoked twice, or one that never was.",
        )
        found = [ledger.tokens.get(token.id) for token in made]
        hold(
            found[0] is not None and found[0].revoked is not None and found[1] == made[1],
            f"After the first is revoked, tokens are {found}.",
        )
        for id, given in (("two", None), ("four", 99)):
            try:
                ledger.tokens.add(id, b"again", scopes=["admin"], problem=given)
            except ValueError as error:
                hold(repr(id) in str(error), f"Token {id!r} is refused with {str(error)!r}.")
            else:
                raise AssertionError(f"Token {id!r} of problem {given} must be refused.")
