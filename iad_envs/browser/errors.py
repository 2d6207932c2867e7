"""Errors of rendering. A fault of a page never leaves this package as an error: it becomes the page's `failure`.

RenderError
├── BrowserNotFound   no Chromium on this machine; says what to install
├── BrowserGone       the browser or a page's process ended
├── PageTimeout       a page took too long
└── ProtocolError     the browser refused a command
"""

from iad_envs.errors import Lost


class RenderError(Lost):
    """Rendering failed for a reason other than the page."""


class BrowserNotFound(RenderError, FileNotFoundError):
    """No Chromium was found."""

    is_lost = False


class BrowserGone(RenderError):
    """The browser or the process of a page has ended."""


class PageTimeout(RenderError):
    """A page did not answer in time."""


class ProtocolError(RenderError):
    """The browser refused a command."""
