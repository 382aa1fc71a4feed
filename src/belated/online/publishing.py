"""Publishing: tick, fold, and publish what that comes to."""

from belated.ledger.ledger import Ledger
from belated.ledger.policies import pack
from belated.online.fold import Fold
from belated.online.follower import Follower


def advance(ledger: Ledger, follower: Follower) -> Fold:
    """Fold what is new of a problem, and publish what that comes to; returns the fold."""
    problem = follower.problem.id
    fold = follower.catch_up()
    if fold.due:
        ledger.tick(problem)
        fold = follower.catch_up()
    newest = ledger.policies.newest(problem)
    if newest is None or newest.sha != pack(fold.policy).sha:
        version = 1 if newest is None else newest.version + 1
        ledger.publish(problem, fold.policy, version=version, tick=fold.tick)
    return fold
