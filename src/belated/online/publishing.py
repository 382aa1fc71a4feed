"""Publishing of policies: updates the learner of a problem, and records a new version."""

from belated.ledger.ledger import Ledger
from belated.ledger.policies import encode_policy
from belated.online.fold import Fold
from belated.online.follower import Follower


def fold_and_publish(ledger: Ledger, follower: Follower) -> Fold:
    """Apply all new events of a problem to its learner, and publish the policy if it has changed.

    A tick is recorded if one is due, so that the learner absorbs the queued feedback. The policy is
    published if it differs from the newest published version.

    Parameters
    ----------
    ledger : Ledger
        Ledger in which the tick and the new version are recorded.
    follower : Follower
        Follower that reads the events of the problem.

    Returns
    -------
    Fold
        State computed from all events of the problem.
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
