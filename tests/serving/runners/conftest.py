"""Makes the packages' fixtures known here."""

from tests.smollm2_package import smollm2_package
from tests.tiny_package import tiny_checkpoint, tiny_package, tiny_stateless_package, tiny_xla_package

__all__ = [
    "smollm2_package",
    "tiny_checkpoint",
    "tiny_package",
    "tiny_stateless_package",
    "tiny_xla_package",
]
