#!/usr/bin/env bash
# Run a command with a Docker-compatible engine: the one that is there, or podman's socket for as long as it takes.
# Image: `iad-test`, made from Debian packages if it is not there. Needs root and podman, runc, mmdebstrap for the latter.
set -euo pipefail
if [ -n "${DOCKER_HOST:-}" ] || docker info >/dev/null 2>&1; then exec "$@"; fi
if [ "$(id -u)" != 0 ] || ! command -v podman >/dev/null || ! command -v runc >/dev/null; then
	echo "No engine: the tests of the docker sandbox are skipped (install podman and runc, or set DOCKER_HOST)." >&2
	exec "$@"
fi
work=$(mktemp -d)
trap 'kill "$service" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
export CONTAINERS_CONF="$work/containers.conf"
# The stock limits need CAP_SYS_RESOURCE, and crun a machine with one kind of control groups.
cat >"$CONTAINERS_CONF" <<'X'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=256:256"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
X
if ! podman image exists iad-test; then
	mmdebstrap --quiet --variant=essential bookworm - | podman import --quiet - iad-test >/dev/null
fi
podman system service --time=0 "unix://$work/engine.sock" &
service=$!
for _ in $(seq 100); do [ -S "$work/engine.sock" ] && break; sleep 0.1; done
DOCKER_HOST="unix://$work/engine.sock" IAD_DOCKER_IMAGE=iad-test "$@"
