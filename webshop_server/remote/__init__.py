"""The shop over HTTP: JSON API, message format and client."""
