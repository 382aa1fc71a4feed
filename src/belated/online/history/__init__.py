"""History of a problem: histograms of its episodes over time and over versions of the policy."""
