"""The shell environment and the sandboxes it runs commands in. Import the modules; this package imports nothing."""
