"""Parses texts that look like Python: see `iad_envs.python_text`. The parser's lock must be one for both packages."""

from iad_envs.python_text import parsed_python, undisturbed

__all__ = ["parsed_python", "undisturbed"]
