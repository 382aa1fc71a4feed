"""Worker process of peer.py: runs where rlberry-scool is installed, without belated.

Reads one JSON request per line from stdin and writes one JSON response per line to stdout.
"""

import json
import os
import sys
import time

responses = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # output of the packages below goes to stderr, not between the responses

import numpy as np  # noqa: E402
import rlberry_scool  # noqa: E402
from rlberry.envs.finite_mdp import FiniteMDP  # noqa: E402
from rlberry_scool.agents.ucbvi import UCBVIAgent  # noqa: E402


def start_agent(transitions, rewards, horizon):
    """Return an agent that replans after every episode, with counts for each stage.

    `transitions` (S, A, S), `rewards` (S, A) and `horizon` describe its world. One episode has been
    played.
    """
    world = FiniteMDP(np.array(rewards), np.array(transitions), initial_state_distribution=0)
    agent = UCBVIAgent(world, gamma=1.0, horizon=horizon, stage_dependent=True)
    agent.set_writer(None)  # no logging, which is not to be measured
    agent._run_episode()
    return agent


def play_seconds(agent, episodes):
    """Return the seconds in which `agent` plays `episodes`.

    This is `fit` without the plan that it computes at its end.
    """
    start = time.perf_counter()
    for _ in range(episodes):
        agent._run_episode()
    return time.perf_counter() - start


agent = None
for line in sys.stdin:
    request = json.loads(line)
    response = {}
    if "version" in request:
        response = {"version": rlberry_scool.__version__}
    elif "episodes" in request:
        response = {"seconds": play_seconds(agent, request["episodes"])}
    else:
        agent = start_agent(**request)
    print(json.dumps(response), file=responses, flush=True)
