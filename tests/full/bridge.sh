#!/usr/bin/env bash
# Tests one bridge in an environment of its own: bridge.sh NAME [what pip installs besides pytest ...]
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1; shift
venv=.venv-bridges/$name
python=$venv/bin/python
log=.venv-bridges/$name.log
mkdir -p .venv-bridges
if [ ! -e "$venv/.ready" ] || [ pyproject.toml -nt "$venv/.ready" ]; then
	.venv/bin/python -m venv "$venv"
	# PyTorch first, in a build without GPU, so that nothing larger is chosen.
	case " $* " in *"[trl]"*|*stable-baselines3*) "$python" -m pip install --quiet torch==2.13.0 >"$log" 2>&1 || true ;; esac
	if ! "$python" -m pip install --quiet -e . pytest pytest-timeout hypothesis "$@" >"$log" 2>&1; then
		echo "SKIPPED: $name can't be installed: $(grep -m1 ERROR "$log" || tail -1 "$log")"
		exit 0
	fi
	touch "$venv/.ready"
fi
timeout 5400 "$python" -m pytest -q -p no:cacheprovider "tests/full/test_bridge_$name.py" </dev/null
