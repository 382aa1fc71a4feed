"""Parts of the service for its operators: readiness, log, request ids, limits on connections."""
