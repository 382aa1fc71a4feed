"""Many runs: planned up front, resumable, kept as plain Parquet."""
