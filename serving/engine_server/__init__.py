"""The engine as a service inside a process: one thread drives it, coroutines talk to it."""
