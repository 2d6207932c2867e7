"""Text from outside can be sent, written and shown, whatever it is made of, and nothing else of it changes."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from iad_policy.types.texts import isolated, well_formed

any_text = st.text(
    st.characters(exclude_categories=())
    | st.sampled_from(
        "\ud83d\ude00\ud800\udfff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u05d0\0\x1b\n\x85"
    )
)


@given(any_text)
@settings(deadline=None)
def test_a_text_can_be_encoded_and_only_surrogates_have_changed(text: str) -> None:
    made = well_formed(text)
    made.encode()
    assert well_formed(made) is made
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert made == "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in paired)


def test_texts_inside_of_lists_tuples_and_dicts_are_changed_and_other_values_are_not() -> None:
    other = object()
    given = {"a\ud83d": ["\ud83d", ("\ud83d\ude00", 1, None, other)]}
    assert well_formed(given) == {"a\ufffd": ["\ufffd", ("\U0001f600", 1, None, other)]}
    assert well_formed(other) is other


@given(any_text)
@settings(deadline=None)
def test_a_text_between_others_is_on_one_line_and_ends_all_that_it_begins(text: str) -> None:
    shown = isolated(text)
    shown.encode()
    assert not any(unicodedata.category(one) == "Cc" and one != "\t" for one in shown)
    assert len(shown.splitlines()) <= 1
    depth = 0
    for place, one in enumerate(shown):
        depth += (one in "\u2066\u2067\u2068") - (one == "\u2069")
        assert depth >= 0
        # Whatever has a direction of its own or changes that of others stands inside.
        is_plain = one not in "\u202a\u202b\u202c\u202d\u202e\u200e\u200f\u05d0"
        assert depth > 0 or is_plain or place == len(shown) - 1
    assert depth == 0


def test_a_text_without_a_direction_is_shown_as_it_is() -> None:
    shown = {"a\nb\x1b[2J": "a\u240ab\u241b[2J", "x\u2069\u202ey": "\u2068x\u202ey\u2069"}
    shown |= {text: text for text in ("", "plain words", "naïve café 東京", "a\tb")}
    assert {text: isolated(text) for text in shown} == shown
