"""The table of official data, as it travels with the package."""

import re
from urllib.parse import urlsplit

import pytest

from iad_envs import ENVIRONMENTS
from iad_envs.official.hashes import official_sha256
from iad_envs.official.sources import DataSource, read_sources

SOURCES = read_sources()


@pytest.mark.parametrize("one", SOURCES.values(), ids=SOURCES)
def test_everybody_can_know_what_they_fetch_and_every_file_is_held_to_something(one: DataSource) -> None:
    assert all((one.title, one.licence, one.citation, one.size, one.layout, one.files or one.commands))
    assert (one.read_by in ENVIRONMENTS) == bool(one.environment) == bool(one.use)
    for file in one.files:
        assert re.fullmatch(r"[0-9a-f]{64}|", file.sha256), file.name
        assert file.size >= 0
        assert file.urls
        assert {urlsplit(url).scheme for url in file.urls} == {"https"}
        assert file.sha256 in (official_sha256().get(file.name, file.sha256), "")
        assert not file.is_archive or one.max_unpacked > 10**9
    # What is taken and saved is what the folder must have, so no fetch ends with a folder that is refused.
    places = [place for file in one.files for place in (file.take or (file.save_as,))]
    for row in one.layout if one.files else ():
        assert any(
            pattern == place or (place.endswith("/") and pattern.startswith(place))
            for pattern in row
            for place in places
        ), row
