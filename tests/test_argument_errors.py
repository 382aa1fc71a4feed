"""Mistakes in calls are answered by a sentence that names the argument and how to fix it."""

import pytest

import belated as bl

P = [[[0.5, 0.5]], [[0, 1]]]
R = [[0], [1]]
SETTING = {"base": "ucrl2", "updater": "active"}
LEARNER = {"states": 2, "actions": 2, "horizon": 2, "rewards": None, **SETTING}


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: bl.MDP.dense(P, R, horizon=2, terminal=1),
            TypeError,
            r"^terminal must be a list of states, such as \[1\]\.$",
        ),
        (
            lambda: bl.Shape(2, 1, 2).restrict(terminal=1),
            TypeError,
            "^terminal must be a list of states",
        ),
        (lambda: bl.MDP.dense(P, R), ValueError, "^horizon is missing.* pass horizon="),
        (lambda: bl.optimal_value(5), TypeError, "^world must be an MDP or the name of one"),
        (lambda: bl.optimal_value("chian-10"), ValueError, r"Did you mean 'chain-10'\?"),
        (
            lambda: bl.delays.never(0.1, otherwise=3),
            TypeError,
            "^otherwise must be a law or its name, got 3",
        ),
        (
            lambda: bl.simulate_many("chain-3", **SETTING, episodes=5),
            TypeError,
            r"^simulate_many\(\) needs the argument seeds; add seeds=",
        ),
        (
            lambda: bl.Learner(**LEARNER),
            TypeError,
            r"^Learner\(\) needs the argument episodes; add episodes=",
        ),
        (
            lambda: bl.Learner(**LEARNER, episodes=5, colour="red"),
            TypeError,
            r"^Learner\(\) has no argument 'colour'; its arguments are shape, ",
        ),
        (
            lambda: bl.simulate("chain-3", **SETTING, episodes=5, delay=100),
            TypeError,
            "such as 'constant:100', got 100",
        ),
        (
            lambda: bl.simulate("chain-3", **SETTING, episodes=5, rewards="unkown"),
            ValueError,
            r"^rewards must be one of .* got 'unkown'\. Did you mean 'unknown' or 'known'\?$",
        ),
        (
            lambda: bl.Learner(**{**LEARNER, "rewards": "unkown"}, episodes=5),
            ValueError,
            r"got 'unkown'\. Did you mean 'unknown'\?$",
        ),
        (
            lambda: bl.results("nowhere"),
            ValueError,
            r"^folder 'nowhere' does not exist\. Give the folder that `belated sweep` or ",
        ),
        (
            lambda: bl.chainn,
            AttributeError,
            r"^module 'belated' has no attribute 'chainn'\. Did you mean 'chain'\?$",
        ),
    ],
)
def test_a_mistake_is_named_with_its_remedy(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_a_mapping_is_no_feedback():
    learner = bl.Learner(**LEARNER, episodes=5)
    with pytest.raises(TypeError, match=r"^Feedback must be of type Episode, got a mapping; see"):
        learner.observe({"states": [0, 1, 1], "actions": [0, 0]})


def test_names_of_worlds_and_laws_are_accepted_where_objects_are():
    chain = bl.chain(3)
    assert bl.optimal_value("chain-3") == bl.optimal_value(chain)
    assert (bl.optimal_actions("chain-3") == bl.optimal_actions(chain)).all()
    policy = [[1, 1, 1]] * 3
    assert bl.policy_value("chain-3", policy) == bl.policy_value(chain, policy)
    assert bl.delays.never(0.1, otherwise="geometric:10") == bl.delays.never(
        0.1, otherwise=bl.delays.geometric(10)
    )


def test_an_episode_that_is_observed_before_it_starts_is_said_to_be_observed():
    learner = bl.Learner(**LEARNER, episodes=5)
    learner.observe(bl.Episode(1, states=[0, 1, 1], actions=[0, 0], rewards=[0, 0]))
    message = r"episode 1 has been observed already; start an episode before its feedback"
    with pytest.raises(ValueError, match=message):
        learner.start(1)
    learner.start(7)
    with pytest.raises(ValueError, match="episode 7 has been started already"):
        learner.start(7)
