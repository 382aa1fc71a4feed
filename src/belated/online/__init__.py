"""Real episodes: learners that follow a ledger, and the policies they publish."""
