"""Publishing of policies: records a new version if the policy of a problem has changed."""

from belated.ledger.ledger import Ledger
from belated.ledger.policies import encode_policy
from belated.online.fold import Fold


def publish_if_changed(ledger: Ledger, problem: int, fold: Fold) -> None:
    """Publish the policy of a problem if it differs from the newest published version.

    Parameters
    ----------
    ledger : Ledger
        Ledger in which the new version is recorded.
    problem : int
        Id of the problem.
    fold : Fold
        State computed from the events of the problem. Its policy is published.
    """
    newest = ledger.policies.newest(problem)
    if newest is None or newest.sha != encode_policy(fold.policy).sha:
        version = 1 if newest is None else newest.version + 1
        ledger.publish(problem, fold.policy, version=version, tick=fold.tick)
