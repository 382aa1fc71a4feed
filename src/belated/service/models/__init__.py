"""Pydantic models of requests and responses; OpenAPI describes them."""
