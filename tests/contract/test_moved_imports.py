"""Imports that the documentation of 0.1 showed work for one version, with a warning."""

import importlib
import subprocess
import sys

import pytest

from iad_policy.moved import MOVED

SHOWN = (
    ("iad_policy.evaluation.trace", "RunTraces", "iad_policy.recording.trace"),
    ("iad_policy.evaluation.statistics", "bootstrap_mean", "iad_policy.analysis.statistics"),
    ("iad_policy.evaluation.metrics", "differences", "iad_policy.analysis.metrics"),
    ("iad_policy.evaluation.fidelity", "fidelity", "iad_policy.analysis.fidelity"),
    ("iad_policy.evaluation.exports", "export_runs", "iad_policy.analysis.exports"),
    ("iad_policy.evaluation.results", "read_results", "iad_policy.analysis.results"),
    ("iad_policy.value_data", "write_value_data", "iad_policy.learning.targets"),
    ("iad_policy.tree", "preference_pairs", "iad_policy.strategies.building_blocks.tree"),
    ("iad_policy.simulators.recording", "record", "iad_policy.simulators.recorded"),
    ("iad_policy.reading.shopping", "read_instruction", "iad_policy.domains.webshop.reading"),
    ("iad_policy.reading.shopping", "price_fits", "iad_policy.domains.webshop.reading"),
    ("iad_policy.models.roles", "model_roles", "iad_policy.roles.language_model"),
    ("iad_policy.agents.instruments", "feedback_responsive", "iad_policy.agents.synthetic"),
    ("iad_policy.call", "current_call", "iad_policy.models.call_context"),
    ("webshop_server.serving", "host_shop", "webshop_server.site.serving"),
    ("iad_envs.webshop", "WebShopEnv", "iad_envs.webshop.env"),
    ("iad_envs.webshop_browser", "WebShopBrowserEnv", "iad_envs.webshop.browser_env"),
    ("iad_envs.bird.sound", "sound_match", "iad_envs.bird.strict_match"),
)


@pytest.mark.parametrize(("old", "name", "new"), SHOWN)
def test_an_old_import_works_and_warns(old: str, name: str, new: str) -> None:
    for module in [one for one in sys.modules if one in MOVED or one == old != "iad_envs.webshop"]:
        del sys.modules[module]
    with pytest.warns(DeprecationWarning, match=r"is now"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), name)


def test_every_moved_module_was_shown() -> None:
    assert set(MOVED) == {old for old, _, _ in SHOWN if old in MOVED} | {"iad_policy.reading"}


def test_a_requirement_has_its_old_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"iad_envs\.requirements"):
        parts = importlib.import_module("iad_envs.parts")
    from iad_envs.requirements import Requirement

    assert parts.Part is Requirement


def test_importing_the_packages_warns_of_nothing() -> None:
    code = "import iad_envs, iad_policy, webshop_server"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
