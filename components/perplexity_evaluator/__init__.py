"""PerplexityEvaluator: candidate against baseline on held-out text, and the blessing that follows."""
