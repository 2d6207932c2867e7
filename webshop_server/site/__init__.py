"""The shop as a site for people: pages, pictures, sessions and the server."""
