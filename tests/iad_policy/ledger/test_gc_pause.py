import gc

import pytest

from iad_policy.ledger.gc_pause import without_collector


def test_the_collector_rests_inside_and_works_again_after_also_after_an_error() -> None:
    assert gc.isenabled()
    with without_collector(), without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="inside"), without_collector():
        raise ValueError("inside")
    assert gc.isenabled()


def test_who_switched_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with without_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_function_can_run_without_it() -> None:
    assert without_collector()(gc.isenabled)() is False
    assert gc.isenabled()
