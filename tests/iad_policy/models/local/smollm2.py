"""The small real model of the tests, where it was fetched in set-up."""

from importlib.util import find_spec

import pytest

from iad_policy.models.local import PACKAGE, LocalModel, find_model
from iad_policy.models.local.files import models_folder


def smollm2(**options: object) -> LocalModel:
    """The model; the test is skipped where it can't run."""
    if find_spec(PACKAGE) is None:
        pytest.skip(f"the package {PACKAGE} is not installed: pip install -e '.[local]'")
    require_smollm2()
    return LocalModel(find_model("smollm2"), **options)  # type: ignore[arg-type]


def require_smollm2() -> None:
    """Skip the test where the model's file is not."""
    if not (models_folder() / "smollm2.gguf").is_file():
        pytest.skip(f"SmolLM2 is not in {models_folder()}: make test-model fetches it")
