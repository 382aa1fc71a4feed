"""Compilation of the learner when the service starts, so that no request waits for it."""


def compile_learner() -> None:
    """Compile the learner, or load the compiled code from the disk cache.

    For this purpose, a learner with the base UCRL2 plans for a very small problem, observes an
    episode and plans again, once with unknown and once with known rewards. The backup of another
    base is compiled when it is first used, which takes less time. A message on stderr announces
    the compilation.
    """
    from belated.episode import Episode, Shape
    from belated.learner.bases import UCRL2
    from belated.learner.learner import Learner
    from belated.learner.updaters import Lazy

    for rewards in (None, [[0.0, 1.0], [0.0, 0.0]]):
        learner = Learner(
            Shape(2, 2, 1), base=UCRL2(), updater=Lazy(2), rewards=rewards, episodes=10
        )
        learner.start(1)
        learner.observe(Episode(1, states=[0, 1], actions=[1], rewards=[1.0]))
