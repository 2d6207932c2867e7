"""Hashes and serialises values. A digest is the same in every process and every run with the same inputs."""

import json
import math
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import blake2b
from operator import itemgetter
from typing import Any

import numpy as np

from iad_policy.types.secrets import masked

MAX_ARRAY_BYTES = 2**28
"""Size of the largest array that is decoded: a picture of 8,000 by 8,000 pixels has less."""
_SIMPLE = (str, int, float, bool, type(None), bytes)


def digest(*parts: Any) -> str:
    """Return a hash of the parts as 32 hex digits.

    Parts are text, numbers, arrays, and nested sequences and mappings of them. For an object with `named_by()` only the
    values that it returns are hashed, so costs and times need not change the digest.
    """
    return _hashed(parts).hexdigest()


def seed_of(*parts: Any) -> int:
    """Return a 64-bit seed that is derived from the parts."""
    return int.from_bytes(_hashed(parts).digest()[:8], "big")


def _hashed(parts: tuple[Any, ...]) -> blake2b:
    for part in parts:
        if type(part) not in _SIMPLE:
            parts = tuple([part if type(part) in _SIMPLE else _plain(part) for part in parts])
            break
    return blake2b(repr(parts).encode(), digest_size=16)


def _plain(value: Any) -> Any:
    if type(value) in _SIMPLE:
        return value
    if type(value) in (tuple, list) or isinstance(value, list | tuple):  # the first is much faster
        return tuple([part if type(part) in _SIMPLE else _plain(part) for part in value])
    if isinstance(value, Mapping):
        return ("map", *sorted(((str(key), _plain(part)) for key, part in value.items()), key=itemgetter(0)))
    if isinstance(value, set | frozenset):
        return ("set", *sorted(map(repr, map(_plain, value))))
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        return ("array", str(data.dtype), data.shape, blake2b(data.tobytes(), digest_size=16).hexdigest())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if hasattr(value, "named_by"):
        return (type(value).__qualname__, _plain(value.named_by()))
    if repr(value) == object.__repr__(value):
        raise TypeError(
            f"expected text, numbers, arrays, sequences and mappings of them, got {type(value).__qualname__}, which "
            "has no stable name; give it named_by() or a repr"
        )
    return (type(value).__qualname__, repr(value))


def encode(value: Any) -> Any:
    """Return a JSON-able form of an action or observation; `decode` gives the value back."""
    if type(value) is float and not math.isfinite(value):
        return {"__float__": repr(value)}
    if type(value) in (str, int, float, bool, type(None)):
        return value
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return encode(value.tolist())
        # Compressed, because images are mostly white.
        data = b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 1)).decode()
        return {"__array__": data, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, tuple):
        return {"__tuple__": [encode(part) for part in value]}
    if isinstance(value, list):
        return [encode(part) for part in value]
    if isinstance(value, Mapping):
        return {"__map__": [[encode(key), encode(part)] for key, part in value.items()]}
    if isinstance(value, set | frozenset):
        return {"__set__": sorted((encode(part) for part in value), key=repr)}
    return {"__repr__": repr(value)}


def decode(value: Any) -> Any:
    """Return the value that was encoded. Numpy scalars come back as Python numbers, unknown objects as their repr.

    Raises:
        ValueError: It is no encoded value, or an array of more than `MAX_ARRAY_BYTES`.
    """
    if type(value) in _SIMPLE:
        return value
    try:
        return _decoded(value)
    except (TypeError, LookupError, AttributeError, RecursionError, OverflowError, zlib.error) as error:
        raise ValueError(f"expected an encoded value, got {type(value).__name__} with {error!r:.200}") from error


def _decoded(value: Any) -> Any:
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, list):
        return [_decoded(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "__float__" in value:
        return float(value["__float__"])
    if "__array__" in value:
        dtype, shape = np.dtype(value["dtype"]), [int(size) for size in value["shape"]]
        n_bytes = math.prod(shape) * dtype.itemsize
        if not 0 <= n_bytes <= MAX_ARRAY_BYTES:
            raise ValueError(f"expected an array of at most {MAX_ARRAY_BYTES} bytes, got one of {n_bytes}")
        # A few bytes may stand for a file system full of zeros: no more is unpacked than the array has.
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(b64decode(value["__array__"]), n_bytes + 1)
        if not unpacker.eof:
            raise ValueError(f"expected an array of {n_bytes} bytes, got another number of them")
        return np.frombuffer(data, dtype=dtype).reshape(shape).copy()
    if "__tuple__" in value:
        return tuple(_decoded(part) for part in value["__tuple__"])
    if "__map__" in value:
        return {_decoded(key): _decoded(part) for key, part in value["__map__"]}
    if "__set__" in value:
        return {_decoded(part) for part in value["__set__"]}
    return value["__repr__"]


def dumps(record: Mapping[str, Any]) -> str:
    """Return one line of JSON without secrets. Lone surrogates are escaped, so every text can be written."""
    return masked(json.dumps(record, ensure_ascii=True, separators=(",", ":"), allow_nan=False))
