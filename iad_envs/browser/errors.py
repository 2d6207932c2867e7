"""Errors of rendering. What a page does wrong is never one of them outside this package: it is a reason on the page.

RenderError
├── BrowserNotFound   no Chromium on this machine: says what to install
├── BrowserGone       the browser or a page's process ended
├── PageTimeout       a page took too long
└── ProtocolError     the browser refused a command
"""


class RenderError(RuntimeError):
    """Rendering failed for a reason that is not the page's."""


class BrowserNotFound(RenderError, FileNotFoundError):
    """No Chromium was found."""


class BrowserGone(RenderError):
    """The browser, or the process of a page, ended."""


class PageTimeout(RenderError):
    """A page did not answer in time."""


class ProtocolError(RenderError):
    """The browser refused a command."""
