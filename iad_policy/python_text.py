"""Parses texts that look like Python: see `iad_envs.python_text`. The parser's lock must be one for both packages."""

from iad_envs.python_text import PARSER_LOCK, parsed_python

__all__ = ["PARSER_LOCK", "parsed_python"]
