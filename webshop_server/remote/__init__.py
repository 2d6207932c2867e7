"""The shop over HTTP: its JSON API, the format of its messages, and the client."""
