"""Where ML Metadata keeps the history, and the one way to open it."""
