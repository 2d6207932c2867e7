"""A sandbox from Linux namespaces and overlayfs alone: no daemon, no root, no package.

Three kinds of process, each with less power than the one above it, in one file each:

- `launcher`: one per Python process, on the host. Makes the user namespace, the frozen base and the cgroups, and
  outlives nobody: it ends when its parent does.
- `supervisor`: one per sandbox, process 1 of its process namespace, with no host directory in reach. Stacks layers.
- `cell`: one per file-system root (the sandbox and each fork of it). Runs commands, with no power over mounts.

They start from a bare interpreter and import the standard library only. `opening` and `client`
are the side that users touch.
"""
