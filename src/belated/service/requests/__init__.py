"""Requests before a route handles them: parsing, validation, idempotency keys, rejections."""
