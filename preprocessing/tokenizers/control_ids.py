"""The tokens that a chat template may write and a message may not."""

from __future__ import annotations

from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec


def control_ids(spec: TokenizerSpec) -> dict[str, int]:
    """Content → id of the special tokens and of the added tokens that may mark turns or calls as well.

    Whoever publishes a tokenizer does not always flag such marks as special (DeepSeek R1's distillations,
    `<tool_call>` of Qwen2.5). Runs of white space and what merges make of text anyway mark nothing: they
    only make text shorter.
    """
    words = {left + right for left, right in spec.merges} if spec.added else set()
    marks = {text: index for text, index in spec.added.items() if text.strip() and text not in words}
    return {**marks, **spec.specials}
