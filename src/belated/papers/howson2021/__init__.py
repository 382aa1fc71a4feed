"""Reproduction of Howson, Pike-Burke, Filippi: Optimism and Delays in Episodic RL."""
