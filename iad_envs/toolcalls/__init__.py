"""Environments in which an agent calls functions. Calls are data: nothing that an agent writes is ever run as code."""
