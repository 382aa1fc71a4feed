"""Planning: optimistic values and greedy actions, of everything or of what changed."""
