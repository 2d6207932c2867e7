"""Counts the rooms of iad_policy, its folders and modules, and what imports what, lazily or for types alone too.

With --full, each arrow is listed, with how many imports it stands for.
"""

import sys
from collections import Counter

from support.figures import ROOT, figure

sys.path.insert(0, str(ROOT))
from tests.contract.floors import PACKAGE, circles, folder_of, grouped, modules_of, pairs, room_of, upward

FULL = "--full" in sys.argv


def main() -> None:
    imports = modules_of()
    arrows = grouped(imports, room_of)
    figure("rooms", len(arrows), "rooms", target=27)
    figure("arrows", sum(map(len, arrows.values())), "arrows", target=130)
    figure("upward_arrows", len(upward(arrows)), "arrows", target=0)
    figure("circles_of_rooms", len(circles(arrows)), "circles", target=0)
    figure("circles_of_modules", len(circles(imports)), "circles", target=0)
    figure("folders_that_import_each_other", len(pairs(grouped(imports, folder_of))), "pairs", target=0)
    if FULL:
        counts = Counter((room_of(one), room_of(other)) for one, known in imports.items() for other in known)
        for (one, other), n in sorted(counts.items()):
            if one != other:
                print(f"{one or PACKAGE} -> {other or PACKAGE}: {n}")


if __name__ == "__main__":
    main()
