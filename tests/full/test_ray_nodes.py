"""A machine that is lost while a run goes on, on a real Ray cluster of two nodes (`make test-ray`)."""

import os
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from iad_policy.run.engines.ray_cluster import load_ray
from tests.full.ray_components import Dials
from tests.full.test_ray import run, runner, same

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.skipif(find_spec("ray") is None, reason="the package ray is not installed: make test-ray"),
]


@pytest.fixture
def nodes() -> Iterator[Any]:
    """A cluster whose head runs nothing, and two nodes with a processor each."""
    ray = load_ray()
    from ray.cluster_utils import Cluster

    os.environ.update(RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=str(ROOT))
    small = {"object_store_memory": 2**27}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    for _ in range(2):
        cluster.add_node(num_cpus=1, **small)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_run_survives_a_machine(nodes: Any, tmp_path: Path) -> None:
    for name in ("calm", "storm"):
        (tmp_path / name).mkdir()
    run(runner(Dials(tmp_path / "calm" / "notes"), engine="threads"), tmp_path / "calm" / "run")
    notes = tmp_path / "storm" / "notes"

    def lose_one() -> None:
        while len({line.rpartition(" ")[2] for line in notes.read_text().splitlines()} if notes.exists() else ()) < 2:
            time.sleep(0.05)  # until both have answered
        nodes.remove_node(sorted(nodes.worker_nodes, key=str)[0], allow_graceful=False)

    losing = threading.Thread(target=lose_one)
    losing.start()
    records = run(runner(Dials(notes, 0.4)), tmp_path / "storm" / "run")
    losing.join()
    assert len(records) == 18
    assert not any(record.error_kind for record in records)
    same(tmp_path / "calm" / "run", tmp_path / "storm" / "run")
    assert len(nodes.worker_nodes) == 1
