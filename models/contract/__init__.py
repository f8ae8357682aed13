"""The contract between training and serving: pure descriptions, no TensorFlow, no network.

Every other room may import this one; it imports none of them.
"""
