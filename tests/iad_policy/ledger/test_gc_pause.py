import gc

import pytest

from iad_policy.ledger.gc_pause import without_collector


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_rests_inside_and_is_as_before_after_also_after_an_error(is_on: bool) -> None:
    try:
        (gc.enable if is_on else gc.disable)()
        with without_collector(), without_collector():
            assert not gc.isenabled()
        assert gc.isenabled() is is_on
        with pytest.raises(ValueError, match="inside"), without_collector():
            raise ValueError("inside")
        assert (without_collector()(gc.isenabled)(), gc.isenabled()) == (False, is_on)
    finally:
        gc.enable()
