"""Gymnasium environments of belated's worlds, and a wrapper that delays feedback.

Importing this package registers the environments:

>>> import gymnasium
>>> import belated.gym
>>> print(gymnasium.make("belated/Chain-v0", states=5).unwrapped)
<WorldEnv<belated/Chain-v0>>
"""

from belated.extras import missing_extra

try:
    import gymnasium as gymnasium
except ImportError:
    raise ImportError(missing_extra("belated.gym", "gymnasium", "gym")) from None

from belated.gym.delayed import DelayedFeedback
from belated.gym.environment import WorldEnv, register
from belated.gym.training import Training, train

__all__ = ["DelayedFeedback", "Training", "WorldEnv", "train"]

register()
