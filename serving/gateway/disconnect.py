"""Ending work whose client has left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Send

from models.contract.errors import AbortedError


async def run_until_disconnect(receive: Receive, send: Send, work: Callable[[Send], Awaitable[None]]) -> None:
    """Run `work`, which answers through the `send` given to it, and cancel it if the client leaves.

    Call it when the request body has been read: all that `receive` can bring then is a disconnect.

    Raises:
        AbortedError: the client left before the answer was complete; `work` has ended by then.
    """
    complete = False

    async def watched_send(message: Message) -> None:
        nonlocal complete
        await send(message)
        complete = complete or (message["type"] == "http.response.body" and not message.get("more_body"))

    task = asyncio.ensure_future(work(watched_send))
    watch = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        # A server reports a disconnect after every complete answer too: then work is just ending.
        if complete or task.done():
            return await task
        raise AbortedError("The client left before its answer was complete.")
    finally:
        for pending in (task, watch):
            pending.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
