"""SQLAlchemy engines for the databases that can store a ledger, and the log of their outages."""
