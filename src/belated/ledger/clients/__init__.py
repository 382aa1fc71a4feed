"""Tables about clients and their requests: tokens, the quarantine and idempotency keys."""
