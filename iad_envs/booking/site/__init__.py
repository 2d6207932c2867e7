"""The booking site as a web site, for people, for agents that speak HTTP, and for `IAD/BookingBrowser-v0`."""
