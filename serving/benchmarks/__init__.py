"""Benchmarks: engines side by side, each in a process of its own, taking turns."""
