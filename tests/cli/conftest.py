"""Makes the fixtures of packages known here."""

from tests.smollm2_package import smollm2_package
from tests.tiny_package import tiny_checkpoint, tiny_package

__all__ = ["smollm2_package", "tiny_checkpoint", "tiny_package"]
