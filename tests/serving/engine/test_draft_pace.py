from __future__ import annotations

from serving.engine.draft_pace import FIRST_PAUSE, LONGEST_PAUSE, DraftPace


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
    for _ in range(7):
        pace.verified(4, 0, 1.6, length)
        start = length
        while pace.is_paused(length):
            length += 1
        pauses.append(length - start)
    assert pauses == [16, 32, 64, 128, 256, 256, 256]
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE, LONGEST_PAUSE)


def test_one_good_draft_after_a_pause_is_enough():
    pace = DraftPace(16)
    pace.verified(4, 0, 1.6, 0)
    pace.verified(pace.length, 4, 1.6, 16)
    assert not pace.is_paused(17)


def test_what_pays_depends_on_the_cost_of_a_call():
    dear, cheap = DraftPace(16), DraftPace(16)
    dear.verified(4, 2, 4.0, 10)
    cheap.verified(4, 2, 1.5, 10)
    assert (dear.is_paused(11), cheap.is_paused(11)) == (True, False)
