"""Makes the tiny packages' fixtures known here."""

from tests.tiny_package import tiny_checkpoint, tiny_package, tiny_stateless_package, tiny_xla_package

__all__ = ["tiny_checkpoint", "tiny_package", "tiny_stateless_package", "tiny_xla_package"]
