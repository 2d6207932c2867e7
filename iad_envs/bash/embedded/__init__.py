"""A sandbox built on Linux namespaces and overlayfs. It needs no daemon, no root and no other package.

There are three kinds of process. Each has fewer privileges than the one above it and lives in its own file:

- `launcher`: one per Python process, on the host. It creates the user namespace, the frozen base and the cgroups. It
  ends when its parent ends.
- `supervisor`: one per sandbox, process 1 of its process namespace, with no access to host directories. It stacks
  layers.
- `runner`: one per file-system root (the sandbox and each of its forks). It runs commands and can't change mounts.

These processes start from a bare interpreter and import only the standard library. The public interface is in
`opening` and `client`.
"""
