"""Publishing of policy versions: tick, fold, and publish the policy if it has changed."""

from belated.ledger.ledger import Ledger
from belated.ledger.policies import encode_policy
from belated.online.fold import Fold
from belated.online.follower import Follower


def fold_and_publish(ledger: Ledger, follower: Follower) -> Fold:
    """Fold all new events of a problem, and publish its policy if that differs from the last one.

    Parameters
    ----------
    ledger : Ledger
        The ledger, in which a tick is recorded if one is due, and the new version.
    follower : Follower
        Follower of the problem.

    Returns
    -------
    Fold
        The fold, up to date.
    """
    problem = follower.problem.id
    fold = follower.catch_up()
    if fold.due:
        ledger.tick(problem)
        fold = follower.catch_up()
    newest = ledger.policies.newest(problem)
    if newest is None or newest.sha != encode_policy(fold.policy).sha:
        version = 1 if newest is None else newest.version + 1
        ledger.publish(problem, fold.policy, version=version, tick=fold.tick)
    return fold
