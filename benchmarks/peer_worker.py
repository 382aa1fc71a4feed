"""The other end of peer.py; runs where rlberry-scool is installed, and knows nothing of belated."""

import json
import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the packages below print must not mix with the answers

import numpy as np  # noqa: E402
import rlberry_scool  # noqa: E402
from rlberry.envs.finite_mdp import FiniteMDP  # noqa: E402
from rlberry_scool.agents.ucbvi import UCBVIAgent  # noqa: E402


def agent_in(transitions, rewards, horizon):
    """An agent that replans after every episode, with counts for each stage."""
    world = FiniteMDP(np.array(rewards), np.array(transitions), initial_state_distribution=0)
    agent = UCBVIAgent(world, gamma=1.0, horizon=horizon, stage_dependent=True)
    agent.set_writer(None)  # no logging: that is not what is measured
    agent._run_episode()
    return agent


def seconds(agent, episodes):
    """What `fit` does for so many episodes, without the plan it adds at its end."""
    began = time.perf_counter()
    for _ in range(episodes):
        agent._run_episode()
    return time.perf_counter() - began


agent = None
for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    if "version" in request:
        answer = {"version": rlberry_scool.__version__}
    elif "episodes" in request:
        answer = {"seconds": seconds(agent, request["episodes"])}
    else:
        agent = agent_in(**request)
    print(json.dumps(answer), file=answers, flush=True)
