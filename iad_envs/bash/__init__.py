"""The shell environment and its sandboxes. Import the modules; the package itself imports nothing."""
