"""ChoiceBuilder: one answer in the words of the OpenAI completions format."""

from __future__ import annotations

import codecs
from typing import Any

from serving.engine.request_output import RequestOutput
from serving.engine.token_output import TokenOutput
from serving.gateway.planned_choice import PlannedChoice


class ChoiceBuilder:
    """Turns an answer's outputs into `choices` entries, piece by piece or as a whole.

    Log-probabilities follow the OpenAI format: a token whose bytes are not UTF-8 by themselves is
    written `bytes:\\xe2\\x80`; `text_offset` counts characters of the answer's text before the
    token; `top_logprobs` holds the best `logprobs` ids and the chosen one.

    Args:
        choice: the answer.
        vocab: bytes of each id.
        return_token_ids: whether entries carry `token_ids` (and the first `prompt_token_ids`).
    """

    def __init__(self, choice: PlannedChoice, vocab: list[bytes], return_token_ids: bool) -> None:
        self._choice = choice
        self._vocab = vocab
        self._return_token_ids = return_token_ids
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._offset = 0
        self._started = False

    def entry(self, outputs: list[RequestOutput]) -> dict[str, Any]:
        """The next entry: what `outputs`, the next ones in order, add to the answer."""
        tokens = [token for output in outputs for token in output.tokens]
        reason = outputs[-1].finish_reason if outputs else None
        entry: dict[str, Any] = {
            "index": self._choice.index,
            "text": "".join(output.text_delta for output in outputs),
            "logprobs": None if self._choice.params.logprobs is None else self._logprobs(tokens),
            "finish_reason": reason and reason.value,
        }
        if self._return_token_ids:
            entry["token_ids"] = [token.id for token in tokens]
        if not self._started:
            self._started = True
            entry["text"] = self._choice.echo + entry["text"]
            if self._return_token_ids:
                entry["prompt_token_ids"] = list(self._choice.prompt_ids)
        return entry

    def says_something(self, output: RequestOutput) -> bool:
        """Whether an output is worth a chunk: text held back for a stop string makes empty ones."""
        wanted = self._return_token_ids or self._choice.params.logprobs is not None
        first = not self._started and bool(self._choice.echo)
        return bool(output.text_delta or output.finish_reason or first or (wanted and output.tokens))

    def _logprobs(self, tokens: list[TokenOutput]) -> dict[str, Any]:
        offsets = []
        for token in tokens:
            raw = self._vocab[token.id]
            offsets.append(self._offset + self._breaks_a_character(raw))
            self._offset += len(self._characters.decode(raw))
        return {
            "tokens": [self._name(token.id) for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [self._top(token) for token in tokens],
            "text_offset": offsets,
        }

    def _breaks_a_character(self, raw: bytes) -> bool:
        """Whether a token leaves the character before it incomplete, which then becomes U+FFFD."""
        pending, _ = self._characters.getstate()
        return bool(pending and raw and not 0x80 <= raw[0] < 0xC0)

    def _top(self, token: TokenOutput) -> dict[str, float]:
        best = token.top[: self._choice.params.logprobs]
        names = {self._name(i): logprob for i, logprob in reversed(best)}
        return {**dict(reversed(names.items())), self._name(token.id): token.logprob}

    def _name(self, token_id: int) -> str:
        raw = self._vocab[token_id]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)
