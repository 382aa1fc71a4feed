"""Learning from real episodes: learners that read the events of a ledger and publish policies."""
