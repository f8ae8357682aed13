from __future__ import annotations

import pytest

from components.reporter.wording import duration, number, percent, signed_percent, size


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (number(None), "–"),
        (number(12345.678), "12,345.678"),
        (number(0.00004), "4e−05"),
        (number(-0.25, signed=True), "−0.250"),
        (number(7, 0), "7"),
        (number(3.2e45), "3.2e+45"),
        (number(-3.2e45), "−3.2e+45"),
        (number(123_456_789.5), "123,456,789.500"),
        (number(20_000_000_000, 0), "20,000,000,000"),
        (signed_percent(13.0), "+1200.00%"),
        (signed_percent(412.3), "× 412"),
        (signed_percent(1e40), "× 1e+40"),
        (percent(0.0068, 2), "0.68%"),
        (percent(None), "–"),
        (signed_percent(0.8778), "−12.22%"),
        (signed_percent(None), "–"),
        (duration(None), "–"),
        (duration(59.6), "1 min 00 s"),
        (duration(3725), "1 h 02 min"),
        (duration(8), "8 s"),
        (size(999), "999 bytes"),
        (size(4_100_000), "4.1 MB"),
        (size(5_000_000_000_000), "5,000.0 GB"),
        (size(None), "–"),
    ],
)
def test_words(said: str, words: str):
    assert said == words
