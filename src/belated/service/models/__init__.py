"""Pydantic models of requests and responses, from which the OpenAPI schema is generated."""
