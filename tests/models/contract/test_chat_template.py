"""Chat templates of the usual shapes, against the reference renderer and by what they promise."""

from __future__ import annotations

import itertools
import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.utils.chat_template_utils import render_jinja_template

from models.contract.chat_template import ChatTemplate
from models.contract.errors import CheckpointError, InvalidInputError
from models.contract.segment import LEARNED, SPECIAL, Segment

SPECIALS = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<think>"]
MARKS = {"bos_token": "<s>", "eos_token": "</s>"}

CHATML = (
    "{% for m in messages %}{% if loop.first and m.role != 'system' %}<|im_start|>system\nBe kind.<|im_end|>"
    "\n{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TRIMMED = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' }}\n{{ m['content'] | trim }}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
INSTRUCTIONS = (
    "{{ bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('user and assistant must take turns') }}{% endif %}{% if m.role == 'user' %}"
    "[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
NO_MARKS = (
    "{% for m in messages %}{{ m.role | capitalize }}: {{ m.content }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
FORGETFUL = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and not loop.last %}"
    "{{ m.content.split('</think>')[-1] | trim }}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TAGGED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|im_start|>assistant\n{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}\n{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "trimmed": TRIMMED,
    "instructions": INSTRUCTIONS,
    "no_marks": NO_MARKS,
    "forgetful": FORGETFUL,
    "tagged": TAGGED,
}

TURNS = [
    {"role": "user", "content": " What is it? "},
    {"role": "assistant", "content": "A thing.\n"},
    {"role": "user", "content": "Is it?"},
    {"role": "assistant", "content": "It is."},
]

words = st.sampled_from([*SPECIALS, "<|", "|>", "im_end", " ", "\n", "a", "thing", "ä🎉", "</think>", "<"])
contents = st.lists(words, max_size=6).map("".join)


def template(source: str) -> ChatTemplate:
    return ChatTemplate(source, SPECIALS, **MARKS)


def reference(source: str, messages, prompt: bool) -> str:
    texts, _ = render_jinja_template([messages], chat_template=source, add_generation_prompt=prompt, **MARKS)
    return texts[0]


def learned(segments: tuple[Segment, ...]) -> list[str]:
    """Each stretch of learned segments as one text."""
    runs = itertools.groupby(segments, key=lambda segment: segment.learned)
    return ["".join(one.text for one in run) for is_learned, run in runs if is_learned]


@pytest.mark.parametrize("source", TEMPLATES.values(), ids=TEMPLATES.keys())
@pytest.mark.parametrize("prompt", [False, True])
@settings(max_examples=30, deadline=None)
@given(said=st.tuples(contents, contents, contents))
def test_the_joined_segments_are_the_reference_rendering(source, prompt, said):
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    segments = template(source).render(messages, prompt)
    assert "".join(segment.text for segment in segments) == reference(source, messages, prompt)


@settings(max_examples=60, deadline=None)
@given(said=st.tuples(contents, contents, contents, contents))
def test_messages_can_write_no_special_token(said):
    roles = ("system", "user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    harmless = [{"role": role, "content": "x"} for role in roles]
    for source in (CHATML, TRIMMED, TAGGED):
        specials = [one.text for one in template(source).render(messages) if one.special]
        assert specials == [one.text for one in template(source).render(harmless) if one.special]


@pytest.mark.parametrize("source", [CHATML, TRIMMED, INSTRUCTIONS, NO_MARKS, FORGETFUL, TAGGED])
@settings(max_examples=30, deadline=None)
@given(said=st.tuples(contents, contents, contents, contents))
def test_what_is_learned_begins_where_the_prompt_of_serving_ends(source, said):
    roles = ("user", "assistant", "user", "assistant")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    segments = template(source).render(messages)
    first = next(index for index, segment in enumerate(segments) if segment.learned)
    assert segments[:first] == template(source).render(messages[:1], add_generation_prompt=True)


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("chatml", ["A thing.\n<|im_end|>", "It is.<|im_end|>"]),
        ("trimmed", ["A thing.</s>", "It is.</s>"]),
        ("instructions", [" A thing.\n</s>", " It is.</s>"]),
        ("no_marks", [" A thing.\n\n\n", " It is.\n\n"]),
        ("tagged", ["A thing.\n<|im_end|>", "It is.<|im_end|>"]),
    ],
)
def test_answers_and_their_end_marks_are_learned_and_nothing_else(name, answers):
    segments = template(TEMPLATES[name]).render(TURNS)
    assert learned(segments) == answers
    assert not any(one.learned for one in template(TEMPLATES[name]).render(TURNS, add_generation_prompt=True))


def test_tagged_answers_are_those_of_the_reference():
    (text,), (spans,) = render_jinja_template(
        [TURNS], chat_template=TAGGED, return_assistant_tokens_mask=True, **MARKS
    )
    assert learned(template(TAGGED).render(TURNS)) == [text[begin:end] for begin, end in spans]


def test_an_earlier_answer_that_is_shown_shortened_is_learned_as_shown():
    thoughts = [dict(turn) for turn in TURNS]
    thoughts[1]["content"] = "<think>Hm.</think>\nA thing."
    assert learned(template(FORGETFUL).render(thoughts)) == ["A thing.<|im_end|>", "It is.<|im_end|>"]


def test_an_answer_that_begins_the_conversation_is_found_though_the_prompt_differs():
    segments = template(CHATML).render([{"role": "assistant", "content": "assistant"}])
    assert learned(segments) == ["assistant<|im_end|>"]
    assert [one.text for one in segments if not one.special][-3:] == ["assistant\n", "assistant", "\n"]


def test_a_mark_behind_the_last_answer_only_is_not_taken_for_the_others():
    at_the_end = (
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}"
        "assistant: {% else %}{{ eos_token }}{% endif %}"
    )
    assert learned(template(at_the_end).render(TURNS)) == ["A thing.", "It is.\n</s>"]


def test_a_prompt_that_a_template_always_appends_is_not_learned():
    always = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>"
    assert learned(template(always).render(TURNS)) == ["A thing.\n</s>", "It is.</s>"]


def test_the_mark_that_begins_the_next_turn_ends_no_answer():
    unended = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
    prompt = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    assert learned(template(unended + prompt).render(TURNS)) == ["A thing.\n\n", "It is.\n"]


def test_of_a_call_of_tools_all_up_to_the_end_mark_is_learned():
    calling = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for call in m.tool_calls or [] %}"
        "<|user|>{{ call | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    turns = [TURNS[0], {"role": "assistant", "content": "So:", "tool_calls": [{"name": "f"}]}, TURNS[2]]
    assert learned(template(calling).render(turns)) == ['So:<|user|>{"name": "f"}<|im_end|>']


def test_an_answer_that_cannot_be_found_is_refused():
    reversed_turns = "{% for m in messages | reverse %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    with pytest.raises(InvalidInputError, match=r"messages\[1\].*generation"):
        template(reversed_turns).render(TURNS)


def test_text_next_to_text_is_one_segment_unless_learned_differs():
    for source in TEMPLATES.values():
        segments = template(source).render(TURNS)
        for one, other in itertools.pairwise(segments):
            assert one.special or other.special or one.learned != other.learned
        assert all(segment.text for segment in segments)


def test_a_segments_flags_are_bits():
    assert [Segment("x", s, a).kind for s in (False, True) for a in (False, True)] == [0, 2, 1, 3]
    assert (SPECIAL, LEARNED) == (1, 2)
    assert all(Segment.of_kind("x", kind).kind == kind for kind in range(4))


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([], "at least one message"),
        ("hi", "at least one message"),
        (["hi"], r"messages\[0\] is 'hi'"),
        ([{"content": "x"}], r"messages\[0\]\.role is None"),
        ([{"role": "user", "content": "x"}, {"role": "im_end", "content": "x"}], r"messages\[1\]\.role"),
        ([{"role": "user"}], r"messages\[0\]\.content is None"),
        ([{"role": "user", "content": 3}], r"messages\[0\]\.content is 3"),
        ([{"role": "user", "content": [{"type": "image"}]}], r"messages\[0\]\.content\[0\]"),
        ([{"role": "user", "content": "a\ud800"}], r"messages\[0\]\.content holds U\+D800 at character 1"),
        ([{"role": "user", "content": "\ufdd0"}], r"U\+FDD0"),
        ([{"role": "user", "content": "a", "name": b"b"}], r"messages\[0\]\.name is bytes"),
    ],
)
def test_wrong_messages_are_named(messages, wrong):
    with pytest.raises(InvalidInputError, match=wrong):
        template(CHATML).render(messages)


def test_contents_in_parts_are_joined_and_null_fields_are_as_if_absent():
    parts = [{"type": "text", "text": "What"}, {"type": "text", "text": " now?"}]
    whole = template(CHATML).render([{"role": "user", "content": "What now?"}])
    assert template(CHATML).render([{"role": "user", "content": parts, "name": None}]) == whole
    call = [{"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]}]
    shows = "{% for m in messages %}{{ m.tool_calls | tojson }}{{ m.content is defined }}{% endfor %}"
    segments = template(shows).render(call, add_generation_prompt=True)
    assert segments == (Segment('[{"name": "f"}]False'),)


def test_a_template_that_refuses_is_quoted_and_its_faults_are_no_tracebacks():
    with pytest.raises(
        InvalidInputError, match="refuses the conversation: user and assistant must take turns"
    ):
        template(INSTRUCTIONS).render([TURNS[1]])
    with pytest.raises(InvalidInputError, match="refuses the conversation"):
        template("{{ messages[0].content + 1 }}").render(TURNS)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        template(CHATML).render([{"role": "user", "content": "x", "extra": deep}])


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ cycler.__init__.__globals__ }}",
    ],
)
def test_templates_run_in_a_sandbox(source):
    with pytest.raises(InvalidInputError, match="refuses the conversation"):
        template(source).render(TURNS)


def test_a_source_that_is_no_template_is_refused():
    with pytest.raises(CheckpointError, match=r"not valid Jinja.*line 1"):
        template("{% for %}")
    with pytest.raises(CheckpointError, match="different characters"):
        ChatTemplate("", ["".join(map(chr, range(0x4E00, 0x4E00 + 2100)))])


def test_functions_that_templates_expect():
    source = (
        "{{ strftime_now('%Y') | length }} {% for i in range(9) %}{% if i > 1 %}{% break %}{% endif %}{{ i }}"
    )
    segments = template(source + "{% endfor %} {{ {'<': 'ä'} | tojson }}{{ tools | tojson }}").render(
        TURNS, add_generation_prompt=True, tools=[{"name": "f</s>"}]
    )
    assert segments == (Segment('4 01 {"<": "ä"}[{"name": "f</s>"}]'),)


def test_it_survives_writing_and_says_what_decides_it():
    one = template(CHATML)
    assert ChatTemplate.from_json(one.to_json()).render(TURNS) == one.render(TURNS)
    assert one.to_json() == ChatTemplate(CHATML, SPECIALS[::-1], **MARKS).to_json()
    assert one.to_json() != template(TRIMMED).to_json()


def test_a_fixed_date_is_shown_and_recorded():
    template = ChatTemplate("{{ strftime_now('%d %b %Y') }}", today=date(2024, 7, 26))
    (segment,) = ChatTemplate.from_json(template.to_json()).render([{"role": "user", "content": "a"}])
    assert segment.text == "26 Jul 2024"


def test_what_a_template_puts_before_the_last_answer_is_learned_after_another_answer_too():
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}"
        "{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    template = ChatTemplate(source, ["<|im_start|>", "<|im_end|>"])
    answers = [{"role": "assistant", "content": content} for content in ("one", "two")]
    messages = [{"role": "user", "content": "q"}, *answers]
    learned = "".join(one.text for one in template.render(messages) if one.learned)
    assert learned.endswith("<think>\n\n</think>\n\ntwo<|im_end|>")


BUILDING = {
    "from a key": "{% for t in tools or [] %}{% for k in t %}{{ '<' ~ k ~ '>' }}{% endfor %}{% endfor %}",
    "around content": "{% for m in messages %}<{{ m.content }}>{% endfor %}",
    "by adding": "{% for m in messages %}{{ '<' + m.content + '>' }}{% endfor %}",
    "by joining": "{% set x = ['<', messages[0].content, '>'] %}{{ x | join }}{{ ''.join(x) }}",
    "by format": "{{ '<%s>' | format(messages[0].content) }}{{ '<{}>'.format(messages[0].content) }}",
    "of two fields": "{% for m in messages %}{{ m.name }}{{ m.content }}{% endfor %}",
    "by replacing": "{% for m in messages %}{{ m.content | replace('!', '') }}{% endfor %}",
    "by lowering": "{% for m in messages %}{{ '<' ~ m.content | lower ~ '>' }}{% endfor %}",
    "in a macro": "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(messages[0].content) }}",
    "in a variable": "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x | trim }}",
    "from numbers": "{{ '<|' ~ messages[0].n ~ '|>' }}{{ '<|%s|>' | format(messages[0].n) }}",
}


@pytest.mark.parametrize("source", BUILDING.values(), ids=BUILDING.keys())
def test_what_is_put_together_from_data_is_no_special_token(source: str):
    chat = ChatTemplate(source, ["<|end|>", "<|7|>"])
    for name, content in [
        ("<", "|end|"),
        ("<|e", "nd|>"),
        ("<", "|END|"),
        ("x", "<|e!nd|>"),
        ("<|end", "|>"),
    ]:
        message = {"role": "user", "name": name, "content": content, "n": 7}
        segments = chat.render([message], True, [{"|end|": {"x": 1}}])
        assert not any(segment.special for segment in segments)


@pytest.mark.parametrize("source", BUILDING.values(), ids=BUILDING.keys())
@pytest.mark.parametrize("content", ["|end|", "<|e!nd|>", "|7|", "nothing else"])
def test_what_is_put_together_from_data_reads_as_the_reference_does(source: str, content: str):
    messages = [{"role": "user", "name": "<", "content": content, "n": 7}]
    tools = [{"|end|": {"x": 1}}]
    segments = ChatTemplate(source, ["<|end|>", "<|7|>"]).render(messages, True, tools)
    texts, _ = render_jinja_template(
        [messages], tools=tools, chat_template=source, add_generation_prompt=True
    )
    assert "".join(segment.text for segment in segments) == texts[0]


def test_templates_look_into_hidden_text():
    """As Qwen3's cuts thoughts off, whose marks are added tokens."""
    source = (
        "{% for m in messages %}{% if m.content.startswith('<think>') and '</think>' in m.content %}"
        "{{ '<think>' + m.content.split('</think>')[0].split('<think>')[-1].strip('\n') + '</think>' }}"
        "{{ m.content.split('</think>')[-1].lstrip('\n') }}{% endif %}{% endfor %}"
    )
    content = "<think>\nWhat is </thing>?\n</think>\n\n<think>"
    segments = ChatTemplate(source, ["<think>", "</think>"]).render(
        [{"role": "user", "content": content}], True
    )
    assert [(one.text, one.special) for one in segments] == [
        ("<think>", True),
        ("What is </thing>?", False),
        ("</think>", True),
        ("<think>", False),
    ]


def test_json_in_ascii_shows_the_text():
    source = "{{ messages[0].content | tojson(ensure_ascii=true) }}"
    chat = ChatTemplate(source, ["<|end|>", "\uff1cend\uff1e", '<"q">', "<\\u00e4>"])
    for content in ("<|end|>", "\uff1cend\uff1e", '<"q">', "\u00e4\U0001f389\n<\u00e4>"):
        (segment,) = chat.render([{"role": "user", "content": content}], True)
        assert (segment.text, segment.special) == (json.dumps(content), False)


def test_what_cannot_be_shown_as_it_is_is_refused():
    chat = ChatTemplate("{{ 'x' in 'yz' }}{{ messages[0].content in 'a<|end|>' }}", ["<|end|>"])
    with pytest.raises(InvalidInputError, match="cannot be told from control tokens"):
        chat.render([{"role": "user", "content": "<|end"}], True)
