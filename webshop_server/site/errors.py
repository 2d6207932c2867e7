"""Errors of the sites."""


class NoSuchPage(ValueError):
    """There is no page at this URL. The error text says why."""
