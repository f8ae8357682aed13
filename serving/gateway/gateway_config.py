"""GatewayConfig: limits and times of the HTTP gateway."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """Limits and times; all times in seconds.

    Args:
        max_body_bytes: largest request body.
        max_choices: most answers that one request may ask for (prompts times `n`).
        max_in_flight: most answers in the server at once, waiting ones included; beyond it: 429.
        max_prompt_bytes: most bytes of all prompts in the server at once; beyond it: 429.
        headers_grace: how long a stream waits for its first output before it commits to status 200.
            Errors that show up in this time become a 4xx or 5xx, later ones an error event.
        ping_interval: silence after which a stream sends a keepalive comment.
        stall_timeout: how long the engine may go without a step while someone waits; after it
            keepalives stop and `/healthz` fails.
        write_timeout: how long a client may leave its socket full before it is given up.
    """

    max_body_bytes: int = 4 * 2**20
    max_choices: int = 128
    max_in_flight: int = 256
    max_prompt_bytes: int = 8 * 2**20
    headers_grace: float = 5.0
    ping_interval: float = 10.0
    stall_timeout: float = 60.0
    write_timeout: float = 60.0
