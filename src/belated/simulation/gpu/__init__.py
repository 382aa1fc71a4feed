"""The GPU engine: many runs at once on one NVIDIA GPU, bit-identical to the compiled engine."""
