"""Parts of the service for its operators: log, metrics, request ids, limits on connections."""
