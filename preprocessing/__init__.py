"""Text to ids and back inside the graph, packing, and reading corpora."""
