"""The HTTP gateway: an OpenAI-compatible API over the engine."""
