"""Howson, Pike-Burke, Filippi: Optimism and Delays in Episodic Reinforcement Learning."""
