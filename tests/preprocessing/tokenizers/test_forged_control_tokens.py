"""Nobody can write a control token into a conversation, whatever the kind of tokenizer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow as tf

from models.contract.chat_template import ChatTemplate
from models.contract.segment import Segment
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from preprocessing.tokenizers.chat_template import load_chat_template
from tests.preprocessing.tokenizers.every_kind import kinds

KINDS = kinds()
LOOK_ALIKES = [
    *("<s>", "</s>", "<unk>", "<pad>", "[INST]", "[/INST]", "<<SYS>>", "<0x0A>", "<0x3C>", "▁", "▁<s>"),
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<tool_call>"),
    *("\uff1c|im_end|\uff1e", "<|im_\u200bend|>", "<|IM_END|>", "&lt;s&gt;", "\ufeff<s>", "<s>▁"),
    *("<|im_end\u0301|>", "<|im_end|\u0338>", "\0</s>\0"),
]


@dataclass(frozen=True)
class Loaded:
    tokenizer: GraphTokenizer
    template: ChatTemplate
    function: tf.types.experimental.GenericFunction

    def segments(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None
    ) -> tuple[Segment, ...]:
        return self.template.render(messages, messages[-1]["role"] != "assistant", tools)

    def ids(self, segments: tuple[Segment, ...]) -> list[int]:
        known = self.tokenizer.control_ids
        text = tf.constant([segment.text for segment in segments])
        special = [known[segment.text] if segment.special else -1 for segment in segments]
        row = tf.constant([0, len(special)], tf.int64)
        return self.function(text, tf.constant(special), row).to_list()[0]

    def controls(self, ids: list[int]) -> list[int]:
        own = set(self.tokenizer.control_ids.values())
        return [index for index in ids if index in own]


@pytest.fixture(scope="module", params=KINDS)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    directory = tmp_path_factory.mktemp("tokenizer")
    KINDS[request.param](directory)
    tokenizer = load_tokenizer(directory)
    template = load_chat_template(directory)
    assert template is not None
    specs = [
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None], tf.int64),
    ]
    function = tf.function(tokenizer.encode_segments, input_signature=specs, autograph=False)
    return Loaded(tokenizer, template, function)


def contents(loaded: Loaded) -> list[str]:
    """Names of control tokens: alone, nested, cut, at the ends of a text, and in a soup."""
    names = [*loaded.tokenizer.control_ids, *LOOK_ALIKES]
    rng = random.Random(1)
    halves = [(name[: len(name) // 2], name[len(name) // 2 :]) for name in names]
    nested = [left + other + right for left, right in halves for other in names[:3]]
    soups = ["".join(rng.choices([*names, " ", "\n", "a", "<", "|>"], k=30)) for _ in range(40)]
    return [*names, *nested, *(f" {name}\n" for name in names), *soups, "".join(names)]


def messages(content: str) -> list[dict[str, Any]]:
    turns = [("user", content), ("assistant", content), ("user", content)]
    return [{"role": role, "content": content} for role, content in turns]


def test_control_ids_are_the_templates_own(loaded: Loaded):
    expected = loaded.controls(loaded.ids(loaded.segments(messages("hello"))))
    assert expected
    for content in contents(loaded):
        assert loaded.controls(loaded.ids(loaded.segments(messages(content)))) == expected, content


def test_the_text_of_a_message_stays_its_text(loaded: Loaded):
    for content in contents(loaded):
        segments = loaded.segments(messages(content))
        written = "".join(segment.text for segment in segments if not segment.special)
        assert written.count(content.strip()) >= 3
        assert [segment.special for segment in segments].count(True) == len(
            loaded.controls(loaded.ids(segments))
        )


def test_default_encoding_never_yields_a_control_id(loaded: Loaded):
    texts = contents(loaded)
    for ids in loaded.tokenizer.encode_batch([*texts, *(text.encode()[1:-1] for text in texts)]):
        assert not set(ids) & set(loaded.tokenizer.special_ids.values())


def test_names_cut_in_two_fields_in_keys_and_by_what_a_template_drops(loaded: Loaded):
    """Each name in every way that a template could put it together again."""

    def asked(name: str, content: str, key: str) -> list[int]:
        turns = [{"role": "user", "name": name, "content": content}]
        tools = [{"type": "function", "function": {"name": "f", key: content}}]
        return loaded.controls(loaded.ids(loaded.segments(turns, tools)))

    expected = asked("a", "b", "c")
    assert expected
    for name in loaded.tokenizer.control_ids:
        for at in range(1, len(name), 3):
            assert asked(name[:at], name[at:], name[1:-1]) == expected, (name, at)
            assert asked(name, name[:at] + "!!" + name[at:], name) == expected, (name, at)
        assert asked("a", name[1:-1], name.strip("<>")) == expected, name


def test_the_templates_own_marks_are_the_ids_of_their_names(loaded: Loaded):
    segments = loaded.segments(messages("hello"))
    marks = [segment.text for segment in segments if segment.special]
    known = loaded.tokenizer.control_ids
    assert loaded.controls(loaded.ids(segments)) == [known[mark] for mark in marks]
    shown = "".join(segment.text for segment in segments)
    assert all(shown.count(mark) == marks.count(mark) for mark in known if mark.strip("_ "))


def test_a_conversation_in_a_message_is_told_from_a_conversation(loaded: Loaded):
    """A whole rendered conversation, put into a message, does not become one."""
    inner = "".join(segment.text for segment in loaded.segments(messages("hello")))
    plain = loaded.controls(loaded.ids(loaded.segments(messages("hello"))))
    assert loaded.controls(loaded.ids(loaded.segments(messages(inner)))) == plain
