"""Sampling inside the graph, row by row: exact, without sorting the vocabulary, compiled or not.

A token is a function of its row's logits, parameters, seed and position; who shares the batch, and
which of the ways below its draw takes, changes nothing (decision 016).
"""

from models.sampling.best_ids import best_ids
from models.sampling.draw import CANDIDATES
from models.sampling.filters import probabilities
from models.sampling.noise import uniform
from models.sampling.sampler import SAMPLED_DTYPES, SAMPLED_SHAPES, Sampled, sample
from models.sampling.sampling_rows import SAMPLING_DTYPES, SamplingRows

__all__ = [
    "CANDIDATES",
    "SAMPLED_DTYPES",
    "SAMPLED_SHAPES",
    "SAMPLING_DTYPES",
    "Sampled",
    "SamplingRows",
    "best_ids",
    "probabilities",
    "sample",
    "uniform",
]
