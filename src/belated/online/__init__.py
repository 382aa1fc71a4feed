"""The learner for real: it follows a ledger, and publishes what it comes to."""
