"""Finds the nouns of product titles, which the reward compares.

The original uses a large spaCy model, available here as `SpacyTagger`. The default, `LightTagger`, is a rule that
needs no download: every word that is not in one of the lists below counts as a noun. The title scores of the two
differ by an unknown amount, so compare scores only under the same tagger.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from webshop_server.extras import extra_command

_NOT_NOUNS = frozenset(
    """
    a about above across after again against all along also although always among an and another any anyone
    anything anywhere are around as at away back be because been before behind being below beneath beside
    between beyond both but by can cannot could did do does doing down during each either else enough even
    ever every everyone everything everywhere except few for from get gets had has have having he her here
    hers him his how i if in inside into is it its itself just least less let like many may me might mine
    more most much must my near neither never no none nor not nothing now of off often on once one only onto
    or other others our ours out outside over own per plus same several shall she should since so some
    someone something soon still such than that the their theirs them then there these they this those
    though through throughout till to together too toward under underneath unless until up upon us very via
    was we well were what when where whether which while who whom whose why will with within without would
    yet you your yours two three four five six seven eight nine ten x w vs etc

    active adjustable advanced all-natural amazing american artificial authentic automatic available basic
    beautiful best better big breathable bright broad casual cheap classic clean clear clever close cold
    colorful comfortable comfy compact compatible complete contemporary convenient cool cozy creamy crisp cute
    daily decorative deep delicate delicious detachable different digital disposable double dry dual durable
    easy eco elastic electric electronic elegant embroidered entire essential excellent exclusive extra
    extreme false famous fantastic fashionable fast favorite festive fine firm first flat flexible floral
    foldable folding formal free fresh friendly full fun functional funny genuine gentle gentler giant good
    gorgeous gourmet graphic great handmade handy happy hard healthy heavy hidden high hollow hot huge hybrid
    ideal individual indoor innovative instant intense invisible large last late lightweight little lined
    long loose low luxurious luxury magnetic main male matte medium metallic mini minimalist modern multi
    multifunctional multiple narrow natural new nice non nonstick novel odd official old open optical oral
    organic original outdoor oversized padded patterned perfect personal personalized plain plush polished
    popular portable powerful practical precious premium pretty printed professional pure quick quiet ready
    real rechargeable regular reliable removable replaceable retro reusable reversible rich right rough round
    rugged rustic sexy sharp sheer shiny short similar simple single sleek sleeveless slight slim slippery
    small smart smooth soft solid special square stackable standard stiff straight strapless stretchy strong
    sturdy stylish sugary super superior suitable sweet synthetic tall thick thin tight tiny tough
    traditional transparent trendy triple true typical ultimate ultra unique universal unisex unscented
    upgraded upholstered useful vegan versatile vibrant vintage virtual warm washable waterproof wet whole
    wide wild wireless wonderful wooden worn wrinkled young

    beige black blue brown burgundy colored coloured cream dark fuchsia gold golden gray green grey ivory
    khaki light magenta maroon navy orange pink purple red rose silver tan taupe teal turquoise violet white
    yellow

    add allow apply based bring built buy carry check choose come contains create cut decorate designed
    enjoy feel find fit fits fitted fix fold follow get give go hang help helps hold include included
    includes including inspired keep know look looking made make makes making need offer organize pack
    packed please prevent protect provide provides put receive reduce remove replace reduces save see
    select sell show shop sized stay support supports take try turn use used using wear wearing works

    cm count ct feet fl ft g gal gallon gallons gb gram grams hz inch inches kg khz lb lbs liter liters
    litre mah meter meters mg mhz mm ml ounce ounces oz pc pcs piece pieces pint pound pounds qt quart
    tb volt volts watt watts yard yards yd
    """.split()  # noqa: SIM905
)
"""Function words, common adjectives, colours, common verbs, and units."""


class Tagger(Protocol):
    """Finds the nouns of a title."""

    def nouns(self, title: str) -> Sequence[str]:
        """Return nouns and proper nouns in order, lower-cased, with repeats."""


class LightTagger:
    """Keeps all words except numbers, units, function words, colours, and common adjectives and verbs."""

    @staticmethod
    @lru_cache(maxsize=65_536)
    def nouns(title: str) -> tuple[str, ...]:
        """Return nouns and proper nouns in order, lower-cased, with repeats."""
        found = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", title.lower())
        words = (re.sub(r"['’]s$", "", word) for word in found)
        # "t" is part of "t-shirt". Other single letters are sizes and fragments.
        wordlike = (word for word in words if (len(word) > 1 or word == "t") and not word[0].isdigit())
        return tuple(word for word in wordlike if word not in _NOT_NOUNS)


class SpacyTagger:
    """The original's tagger: keeps tokens that a spaCy model tags as nouns or proper nouns.

    Args:
        model: Name of an installed spaCy model. Results published until 2024 used "en_core_web_lg", later ones
            "en_core_web_sm".

    Raises:
        ImportError: spaCy or the model is not installed. The error text says how to install it.
    """

    def __init__(self, model: str = "en_core_web_lg") -> None:
        try:
            import spacy
        except ImportError:
            command = extra_command("spacy")
            raise ImportError(f"SpacyTagger expects spaCy, which is not installed; {command}") from None
        try:
            self._parse = spacy.load(model)
        except OSError:
            raise ImportError(
                f"SpacyTagger expects the spaCy model {model!r}, which is not installed; "
                f"python -m spacy download {model}"
            ) from None
        self.nouns = lru_cache(maxsize=65_536)(self._nouns)

    def _nouns(self, title: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in self._parse(title) if token.pos_ in ("NOUN", "PROPN"))
