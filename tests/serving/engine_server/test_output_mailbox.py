from __future__ import annotations

import asyncio
import threading

import pytest

from models.contract.errors import EngineError
from serving.engine.finish_reason import FinishReason
from serving.engine.request_output import RequestOutput
from serving.engine.token_output import TokenOutput
from serving.engine_server.output_mailbox import OutputMailbox


def output(text: str, number: int, reason: FinishReason | None = None) -> RequestOutput:
    return RequestOutput("r", text, (TokenOutput(number, -1.0),), reason, 3, number)


def test_what_was_not_fetched_is_merged():
    async def body() -> None:
        mailbox = OutputMailbox(asyncio.get_running_loop())
        for number, text in enumerate("abc", 1):
            mailbox.put(output(text, number))
        merged = await mailbox.get()
        assert (merged.text_delta, [t.id for t in merged.tokens]) == ("abc", [1, 2, 3])

    asyncio.run(body())


def test_an_error_comes_after_what_is_still_there():
    async def body() -> None:
        mailbox = OutputMailbox(asyncio.get_running_loop())
        mailbox.put(output("a", 1))
        mailbox.fail(EngineError("it broke"))
        assert (await mailbox.get()).text_delta == "a"
        for _ in range(2):
            with pytest.raises(EngineError, match="it broke"):
                await mailbox.get()

    asyncio.run(body())


def test_nothing_is_lost_between_threads():
    async def body() -> list[int]:
        mailbox = OutputMailbox(asyncio.get_running_loop())

        def write() -> None:
            for number in range(1, 2001):
                mailbox.put(output("x", number, FinishReason.LENGTH if number == 2000 else None))

        writer = threading.Thread(target=write)
        writer.start()
        seen: list[int] = []
        while True:
            got = await mailbox.get()
            seen += [token.id for token in got.tokens]
            if got.finished:
                break
        writer.join()
        return seen

    assert asyncio.run(asyncio.wait_for(body(), 20)) == list(range(1, 2001))


def test_a_reader_whose_loop_is_gone_disturbs_nobody():
    loop = asyncio.new_event_loop()
    mailbox = OutputMailbox(loop)
    loop.close()
    mailbox.put(output("a", 1))
    mailbox.put(output("b", 2))
    # Nothing was raised to the engine's thread, and nothing is lost if somebody reads after all.
    assert [token.id for token in asyncio.run(mailbox.get()).tokens] == [1, 2]
