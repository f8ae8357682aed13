"""Initial model: random weights for a run from scratch."""
