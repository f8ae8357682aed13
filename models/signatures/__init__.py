"""The signatures of a model package, one class per group; names and shapes are the contract's."""
