"""The shop as a web site for people, and what other sites of this project share with it."""
