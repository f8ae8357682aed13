from __future__ import annotations

from serving.engine.draft_pace import LONGEST_PAUSE, PAUSE_PER_COST, DraftPace


def test_right_drafts_grow_and_wrong_ones_shrink():
    pace = DraftPace(16)
    lengths = [pace.length]
    for accepted in (4, 8, 16, 5, 0):
        pace.verified(pace.length, accepted, 1.5, 100)
        lengths.append(pace.length)
    assert lengths == [4, 8, 16, 16, 6, 1]


def test_a_draft_cut_short_by_the_answers_end_says_nothing_about_the_next_ones_length():
    pace = DraftPace(16)
    pace.verified(4, 4, 1.5, 10)
    pace.verified(1, 1, 1.5, 12)
    assert pace.length == 8


def test_drafts_that_do_not_pay_are_followed_by_longer_and_longer_pauses():
    pace, length, pauses = DraftPace(16), 0, []
    for _ in range(8):
        pace.verified(4, 0, 1.5, length)
        start = length
        while pace.is_paused(length):
            length += 1
        pauses.append(length - start)
    assert pauses == [0, 16, 32, 64, 128, 256, 512, 512]
    assert (pauses[1], pauses[-1]) == (PAUSE_PER_COST / 2, LONGEST_PAUSE)


def test_one_good_draft_after_a_pause_is_enough():
    for cost, length in ((1.6, 4), (5.0, 10), (20.0, 16)):
        pace = DraftPace(16)
        pace.verified(4, 0, cost, 0)
        assert (pace.is_paused(1), pace.length) == (True, length)
        if cost < 16:
            pace.verified(pace.length, pace.length, cost, 1000)
            assert not pace.is_paused(1001)


def test_the_dearer_a_call_the_longer_the_pause():
    pace = DraftPace(16)
    pace.verified(4, 0, 5.0, 10)
    assert pace.is_paused(10 + 4 * PAUSE_PER_COST - 1)
    assert not pace.is_paused(10 + 4 * PAUSE_PER_COST)


def test_what_pays_depends_on_the_cost_of_a_call():
    dear, cheap = DraftPace(16), DraftPace(16)
    dear.verified(4, 2, 4.0, 10)
    cheap.verified(4, 2, 1.5, 10)
    assert (dear.is_paused(11), cheap.is_paused(11)) == (True, False)
