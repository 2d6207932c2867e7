"""The meter: reservations, refunds, scopes and threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy.budget import COUNTED, Budget, Meter, count
from iad_policy.errors import BudgetExhausted
from iad_policy.types import NOTHING, Usage

COUNTS = dict.fromkeys(("proposals", "prompt_tokens", "completion_tokens"), st.integers(0, 999))
USAGES = st.builds(Usage, **COUNTS, seconds=st.floats(0, 9))


@given(st.lists(USAGES))
def test_usage_adds_up_axis_by_axis(usages: list[Usage]) -> None:
    total = sum(usages, NOTHING)
    assert total.prompt_tokens == sum(usage.prompt_tokens for usage in usages)
    assert total.tokens == sum(usage.tokens for usage in usages)
    assert bool(total) == any(usages)
    assert Usage(**total.as_dict()) == total


@given(st.lists(st.tuples(st.sampled_from(COUNTED), st.integers(1, 5), st.booleans())), st.integers(0, 12))
def test_grants_never_pass_a_limit(asked: list[tuple[str, int, bool]], limit: int) -> None:
    run = Meter(Budget({f"run.{axis}": limit for axis in COUNTED}).of("run"))
    meter = Meter(Budget({"decision.proposals": 4}).of("decision"), parent=run)
    for axis, n, whole in asked:
        granted, name = meter.grant("agent", axis, n, whole=whole)
        assert 0 <= granted <= n
        assert granted in (0, n) or not whole
        assert (name == "") == (granted == n)
    assert all(getattr(run.total, axis) <= limit for axis in COUNTED)
    assert meter.total.proposals <= 4


def test_the_tightest_scope_gives_its_name() -> None:
    limits = Budget({"decision.proposals": 5, "decision.agent.proposals": 3}).of("decision")
    meter = Meter(limits, parent=Meter(Budget({"run.proposals": 2}).of("run")))
    assert meter.grant("agent", "proposals", 9) == (2, "run.proposals")
    meter = Meter(limits, parent=(run := Meter()))
    assert meter.grant("agent", "proposals", 9) == (3, "decision.agent.proposals")
    assert run.total == count("proposals", 3)
    meter.charge("agent", count("proposals", -1))
    assert meter.grant("agent", "proposals", 1)[0] == 1  # a refund makes room again


def test_a_shared_run_meter_is_exact_under_threads() -> None:
    run = Meter(Budget({"run.proposals": 500}).of("run"))

    def spend(_: Any) -> int:
        meter = Meter(parent=run)
        return sum(meter.grant("agent", "proposals", 1)[0] for _ in range(100))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 500
    assert run.total.proposals == 500


def test_what_another_role_spent_does_not_end_an_episode() -> None:
    meter = Meter(Budget({"episode.verifier.tokens": 5, "episode.verifications": 1}).of("episode"))
    meter.charge("verifier", Usage(prompt_tokens=9, verifications=1))
    meter.refuse_if_spent("agent")
    assert [meter.exhausted(role) for role in ("verifier", "agent")] == ["episode.verifier.tokens", ""]
    with pytest.raises(BudgetExhausted, match=r"episode\.verifier\.tokens"):
        meter.refuse_if_spent("verifier")
