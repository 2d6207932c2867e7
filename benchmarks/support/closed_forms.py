"""Compares the success of strategies with closed-form values, for synthetic agents with known error rates.

It runs only with --full, because it takes a minute or two. `tests/iad_policy/closed_forms.py` has the formulas.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.figures import figure

from tests.iad_policy.closed_forms import cells, fits

NS = (1, 2, 3, 4, 6)
N_TRIALS = 1000


def main() -> None:
    """Measure every point of every curve, and print how many lie in their intervals."""
    points = cells(NS)
    n_inside = 0
    for cell in points:
        n_solved = cell.n_solved(N_TRIALS)
        n_inside += fits(n_solved, N_TRIALS, cell.expected, confidence=0.99)
        name = f"closed_form_{cell}".replace("-", "_").replace(" ", "_")
        figure(name, n_solved / N_TRIALS, "share", n=N_TRIALS, better="higher", baseline=cell.expected)
    figure("closed_forms_in_99_interval", n_inside / len(points), "share", n=len(points), better="higher")


if __name__ == "__main__":
    main()
