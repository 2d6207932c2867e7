"""No action of an agent costs an episode: whatever is tried or committed, every episode ends with a score."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_envs.data import data_folder
from iad_envs.sketch2code.page import RenderLimits
from iad_envs.sketch2code.tasks import load_assets
from iad_policy import evaluate
from iad_policy.report.results import Results
from iad_policy.types import Candidate, State
from tests.browser import Browsers
from tests.effort import some, times
from tests.security.attacks import ATTACKS, PAGES, SHELL, SQL

LONG = times(10**6)
"""Characters of a long text, and items of a long list."""
PIECES = (
    "\ud83d", "\ude00", "\x00", "\x1b[2J", "\u202e", "\u2066", "\u2028", "\ufeff", "\uffff", "\U0010ffff", "\ufdfa",
    "\u0130", "\u00df", "e\u0301", "\u0663", "\u200b", "\r\n", "\t", "'", '"', "`", "\\", "```", "[/bold]", "{{7*7}}",
    "${HOME}", "%s%n", "{0.__class__}", "<script>", "</p>", "<!--", "]]>", "&lt;", "../", "..\\", "%2e%2e%2f", "%00",
    "/etc/passwd", "file:///etc/shadow", "http://[::1]:0/", "javascript:alert(1)", "//x", "' OR 1=1 --", "; DROP TABLE",
    "$(reboot)", "(a+)+$", "[^", "<tool_call>", "Action:", "reply[", "search[", "buy now", "submit", "None", "-", "🦉",
)  # fmt: skip
NUMBERS = (
    "1e999999", "-1e308", "NaN", "-Infinity", "0x7fffffffffffffff", "9" * 5_000, "-0", "1_000", "٣", "1.5.2", "0b1",
    "99999-12-31", "0000-00-00", "2026-02-30", "24:61", "-1", "18446744073709551616", "9**9**9", "True", "1j",
)  # fmt: skip
SHAPES: tuple[Callable[[Random], str], ...] = (
    lambda draw: "".join(draw.choices(PIECES, k=draw.randint(1, 12))),
    lambda draw: draw.choice(PIECES) * draw.choice((100, 5_000, LONG // 10)),
    lambda draw: draw.choice(("x", " ", "`", "-", "a ", "ab!")) * draw.choice((300, 5_000, LONG)),
    lambda draw: draw.choice(NUMBERS),
    lambda draw: draw.choice("[({<") * draw.choice((100, 1_000, 5_000, LONG // 10)) + draw.choice(("", "1", "x")),
    lambda draw: (lambda n, mark: mark[0] * n + mark[1] * n)(
        draw.choice((100, 5_000)), draw.choice(("[]", "()", "{}"))
    ),
    lambda draw: "../" * draw.randint(1, 400) + draw.choice(("etc/passwd", "proc/self/environ", "data", "")),
    lambda draw: "".join(chr(draw.randrange(0x110000)) for _ in range(draw.choice((1, 30, 3_000)))),
    lambda draw: f"[{'0,' * LONG}0]",
    lambda draw: '{"a":' * draw.choice((50, 900, 20_000)) + "1",
    lambda draw: " ".join(str(draw.random()) for _ in range(draw.choice((10, 20_000)))),
    lambda draw: draw.choice(("", " ", "\n", ".")),
)
HOSTILE_PAGES = [
    *(page.replace("{url}", "http://127.0.0.1:9/x") for kind in ("routes", "leaving") for page in PAGES[kind].values()),
    *(f"<script>{script}</script><p>words</p>" for script in PAGES["scripted"].values()),
    *(page for kind in ("lingering", "bombs", "script_bombs", "harmless") for page in PAGES[kind].values()),
    *PAGES["hostile"],
]
FORMS: Mapping[str, Sequence[str]] = {
    "IAD/WebShop-v0": ATTACKS["others"]["shop"],
    "IAD/Booking-v0": ATTACKS["others"]["site"],
    "IAD/InterCodeBash-v0": SHELL["hostile"],
    "IAD/BIRD-v0": [*SQL["taking"].values(), *SQL["hostile"]],
    "IAD/Sketch2Code-v0": HOSTILE_PAGES,
    "IAD/BFCL-v0": ATTACKS["others"]["calls"],
    "IAD/ACEBench-v0": ATTACKS["others"]["calls"],
}
CASES: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("IAD/WebShop-v0", {}),
    ("IAD/InterCodeBash-v0", {"limits": {"time_s": 0.5}}),
    ("IAD/BIRD-v0", {"time_limit_s": 0.2, "score_limit_s": 0.2}),
    ("IAD/Sketch2Code-v0", {"scripts": True}),
    ("IAD/Booking-v0", {}),
    *(("IAD/BFCL-v0", {"category": category}) for category in ("multi_turn", "single_turn")),
    *(("IAD/ACEBench-v0", {"category": category}) for category in ("agent", "normal")),
)
EVERY = {"IAD/InterCodeBash-v0": 4, "IAD/Sketch2Code-v0": 10, "IAD/BIRD-v0": 2}
"""Which of the actions `make test` tries, where they last as long as the limits allow."""
HASTY = RenderLimits(load_s=0.5, collect_s=0.5, screenshot_s=0.5)
N_PARTS, N_ACTIONS, N_TASKS, N_STEPS = 10, 20, 5, 4
"""200 actions against each environment, in parts of which `make test` has one."""
LONGEST = 2_100_000


def hostile_action(env: str, draw: Random) -> str:
    """Draw an action: one of the forms of attack, filled with texts that no one expects."""
    form = draw.choice(FORMS[env])
    parts = form.split("{}")
    action = parts[0] + "".join(draw.choice(SHAPES)(draw) + part for part in parts[1:])
    form = draw.choice(SQL["forms"]) if "BIRD" in env else "{}"
    return form.replace("{}", action)[:LONGEST]


class Hostile:
    """Proposes one action after the other, with the names of functions that are offered."""

    def __init__(self, actions: Sequence[str]) -> None:
        self.left = list(actions)[::-1]

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        action = self.left.pop() if self.left else "nothing"
        if tools := state.info["page"].get("tools"):
            tool = rng.choice(tools)
            parameters = [*tool["parameters"].get("properties", {}), "x"]
            action = action.replace("TOOL", tool["name"]).replace("PARAM", rng.choice(parameters))
        return Candidate(action)


def lost_in(results: Results, n: int) -> list[tuple[str, str, str]]:
    """The episodes of a run of n that have no score, and why."""
    records = [record for own in results.records.values() for record in own]
    assert len(records) == n
    return [
        (one.task_id, one.error, one.failed_verdict)
        for one in records
        if not one.is_scored or one.success is None or not math.isfinite(one.reward) or one.n_failed_verdicts
    ]


PARTS = [(strategy, seed) for seed in range(N_PARTS) for strategy in ("bon", "single")]


@pytest.mark.parametrize(("env", "arguments"), CASES, ids=lambda one: one if isinstance(one, str) else "")
@pytest.mark.parametrize(
    ("strategy", "seed"), [PARTS[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in PARTS[1:])]
)
def test_every_episode_ends_with_a_score(
    env: str, arguments: Mapping[str, Any], strategy: str, seed: int, tmp_path: Path, browsers: Browsers
) -> None:
    draw = Random(f"{env} {seed}")
    agent = Hostile(some([hostile_action(env, draw) for _ in range(N_ACTIONS)], EVERY.get(env, 1)))
    lost = []
    with ExitStack() as stack:
        if "Sketch" in env:
            assets = load_assets(data_folder("sketch2code").resolve())
            stack.enter_context(browsers.leased(scripts=True, assets=assets)).limits = HASTY
        while agent.left:
            n_tasks = min(N_TASKS, math.ceil(len(agent.left) / 2))
            results = evaluate(
                env, strategy, n_tasks, agent=agent, n=2, seed=len(agent.left), out=tmp_path / str(len(agent.left)),
                env_args={**arguments, "max_steps": N_STEPS},
            )  # fmt: skip
            lost += lost_in(results, n_tasks)
    assert lost == []


def test_candidates_that_each_fill_the_disk_cost_no_episode() -> None:
    actions = [f"head -c 15M /dev/zero >/tmp/{number}; cd /tmp" for number in range(12)]
    arguments = {"limits": {"disk_mb": 16, "memory_mb": 48}, "max_steps": 2}
    agent = Hostile(actions)
    assert not lost_in(evaluate("IAD/InterCodeBash-v0", "bon", 1, agent=agent, n=6, env_args=arguments), 1)
    assert not agent.left
