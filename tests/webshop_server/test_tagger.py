import importlib.util

import pytest

from webshop_server.tagger import LightTagger, SpacyTagger


def test_numbers_units_function_words_and_common_adjectives_are_not_nouns() -> None:
    for title, nouns in {
        "Acme Women's Walking Sneakers, 2 Pack of 10oz": ("acme", "women", "walking", "sneakers"),
        "Soft Blue Throw Blanket 50 x 62 inch for the Sofa": ("throw", "blanket", "sofa"),
        "Shirt and T-Shirt and Shirt": ("shirt", "t", "shirt", "shirt"), "12 x 16 & 3D, with!": (), "": (),
    }.items():  # fmt: skip
        assert LightTagger().nouns(title) == nouns, title


@pytest.mark.skipif(importlib.util.find_spec("spacy") is not None, reason="spaCy is installed")
def test_without_spacy_the_error_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r'pip install -e ".+\[spacy\]"'):
        SpacyTagger()
