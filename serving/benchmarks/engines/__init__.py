"""What runs inside a benchmark's worker processes: one module per engine, importing only what it times.

A module has `load(job)`, which returns an object with `describe()` and `run(prompts, tokens)`. The
workers may run on another Python than Tokenmill's: these modules import the standard library, NumPy,
each other and their own engine, nothing else (`tokenmill_engine` aside).
"""
