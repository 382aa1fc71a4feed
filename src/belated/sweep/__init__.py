"""Sweeps: many runs described by a study, resumable, with results stored as Parquet files."""
