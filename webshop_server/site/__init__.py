"""The shop as a web site for people: pages, pictures, sessions and the server."""
