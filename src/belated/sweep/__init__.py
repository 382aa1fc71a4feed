"""Sweeps: computation of all runs of a study. Sweeps are resumable; results are Parquet files."""
