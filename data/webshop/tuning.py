"""The constants that set how large the catalogue is and how hard its goals are."""

SEED = 20260501

N_PRODUCTS_PER_CATEGORY = 200
FAMILY_SIZES = (3, 8)
"""Fewest and most siblings in a family; siblings share brand, series and kind."""

CORE_ATTRIBUTES = (1, 2)
"""What all siblings of a family have."""
SWING_ATTRIBUTES = (3, 4)
"""What siblings have different non-empty subsets of: the attributes that decide."""
CORE_PLACES = {"title": 0.35, "first bullet": 0.25, "bullet": 0.20, "description": 0.15, "list": 0.05}
"""Where the shop states a core attribute; the search index holds title, description and first bullet."""
SWING_PLACES = {"title": 0.14, "first bullet": 0.06, "bullet": 0.58, "description": 0.14, "list": 0.08}
"""More "bullet" means that search finds the right sibling less often and reading decides more often."""
UNLISTED_SHARE = 0.10
"""Attributes that stand in the text but not in the attributes file."""

PRICE_SPREAD = (0.72, 1.55)
"""Cheapest and dearest sibling, relative to the price of the family."""
RANGE_SHARE, MISSING_PRICE_SHARE = 0.09, 0.05
KEPT_VALUES = 0.62
"""Chance that a sibling offers an option value of its family; lower makes options decide more often."""
BARE_FAMILY_SHARE, NO_OPTION_SHARE = 0.12, 0.08
"""Families without any options, and single options that a family does without."""
TWICE_SHARE, NULL_OPTION_SHARE = 0.02, 0.01
"""Products with one value under two names, and with an option that has no values (null)."""

SPLIT_SIZES = {"test": 200, "dev": 200, "train": 800}
HARD_SHARE = 0.5
SPARE_STEPS = (0, 0, 1)
"""Steps of the price grid left between the price and the limit; more lets dearer siblings in."""
EASY_ATTRIBUTES, EASY_OPTIONS = (1, 2), (0, 1, 1)
EASY_MAX_RIVALS, EASY_MAX_LOOKALIKES = 2, 2
HARD_ATTRIBUTES, HARD_OPTIONS = (2, 3), (1, 2)
"""How many are asked for; a number that stands twice is drawn twice as often."""
HARD_MIN_CONSTRAINTS, HARD_MAX_RIVALS, HARD_MIN_LOOKALIKES = 3, 1, 2
"""Rivals: other products of the kind that satisfy the goal. Lookalikes: those within the limit that offer
the options, state as many of the wanted attributes where search finds them (title, first bullet,
description), and still lack one."""
TRIES = 60
INSTRUCTION_SHARE = 0.4
"""Products with an instruction for synthetic goals in the attributes file."""
