"""History of a problem: statistics of its episodes by time and by version, in histograms."""
