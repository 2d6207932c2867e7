"""The error contract of the commands: status 2, one sentence with what was given or what to do, and nothing written."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import extra_command
from tests.command_line import iad

FIXTURES = Path(__file__).parents[2] / "fixtures"
PLACES = {
    "SHOP": "IAD/WebShop-v0",
    "BIRD": "IAD/BIRD-v0",
    "RUN": FIXTURES / "run_folders/webshop",
    "LOGS": FIXTURES / "other_logs",
    "MODELS": FIXTURES / "other_logs/inspect/models",
    "ONE": FIXTURES / "predictions/bird/sample-1.json",
    "TWO": FIXTURES / "predictions/bird/sample-2.json",
    "ACTIONS": FIXTURES / "predictions/shopper.jsonl",
    "HERE": __file__,
}
ERRORS = """
compare IAD/Nope-v0 | known: .*IAD/WebShop-v0
compare nope:IAD/Nope-v0 | IAD/WebShop-v0
compare SHOP --split moon | known: test
compare SHOP --strategies single,nope | known:
compare SHOP --agent nobody | nobody.*known:
compare SHOP --agent no.such:Agent | no.such
compare SHOP --agent iad_policy.agents.random:Nope | Nope
compare SHOP --agent litellm: | model's name
compare SHOP --agent learned:none | train one: iad train bc RUN --out none
compare SHOP --verifier qnet:none | train one: iad train qnet RUN --out none
compare SHOP --strategies mcts --simulator learned:none | train one: iad train simulator OUTCOMES --env ENV --out none
compare SHOP --agent-arg colour=red | colour
compare SHOP --verifier nobody | known:
compare SHOP --n 0 | n of 1 or more
compare SHOP --tasks -1 | tasks of 1 or more
compare SHOP --budget decision.proposals=-1 | limit of 0 or more
compare SHOP --budget decision.proposals | KEY=VALUE
compare SHOP --env-arg colour=red | colour.*known:
compare SHOP --env-arg split=dev | --split
compare SHOP --env-arg max_steps=1.5 | max_steps of 1 or more.*1.5
compare SHOP --strategy-arg iad.colour=red | colour
compare SHOP --data-dir /no/such/folder | data_dir
compare SHOP --baseline bon | known:
compare SHOP --strategies try-again | 'oracle'
compare CartPole-v1 | --verifier
compare CartPole-v1 --verifier none --split test | split
compare SHOP --strategies bon --charge-pilot | strategy with a plan
compare | --preset
compare BIRD --preset iad/webshop | iad/bird
compare IAD/InterCodeBash-v0 --preset lats/webshop | expected the environment IAD/WebShop-v0
compare --preset iad/webshp | near: iad/webshop
compare SHOP --subset 2 | share of the split
compare CartPole-v1 --verifier none --strategies single --subset 0.5 | pass --tasks
compare SHOP --strategies single,bon-sc --n 2 --match calls | bon-sc to match calls
compare SHOP --strategies bon,iad --match proposals | --n 1,2,4,8
compare SHOP --strategies single,bon --n 1,2 --match proposals --baseline single | --baseline bon
compare SHOP --strategies single --n 1,2 --match proposals | such as bon
compare SHOP --strategies bon --n 1,2 --match time | axis to match
play SHOP --task nope | known: test-0001
play CartPole-v1 --task nope | CartPole-v1.*'nope'
play IAD/InterCodeBash-v0 --env-arg backend=docker | iad: expected
list verifier | near: verifiers
index build --search nope | bm25, dense, hybrid, lucene.*'nope'
index build --data-dir no/such/folder | data_dir
data synth --products 0 --out x | at least 1 product, got 0
serve --port 0 --host 192.0.2.1 | assign
serve --port 0 --split moon | known: test
serve --port 0 --env-arg colour=red | known:
serve --port 0 --data-dir /no/such/folder | data_dir
serve --port 70000 | port
serve --port 0 --site shop | known: webshop, booking
serve --port 0 --api | --api.*iad serve --openenv IAD/WebShop-v0
serve --port 0 --env-arg server=here | server.*iad serve --openenv IAD/WebShop-v0
serve --port 0 --site booking --env-arg max_steps=3 | --env-arg with --site webshop or --mcp or .*booking
serve --port 0 --site booking --split moon | known: train, dev, test
serve --port 0 --site booking --data-dir /no/such/folder | data_dir
serve --port 0 --site booking --host 192.0.2.1 | assign
serve --port 0 --preview | --preview with --mcp.*--site webshop
serve --port 0 --snapshots 2 | --snapshots with --mcp or --openenv.*--site webshop
serve --port 0 --outcomes file | --outcomes with --mcp.*--site webshop
serve --mcp SHOP --oracle | --oracle with --openenv.*--mcp
serve --port 0 --openenv SHOP --oracle | --oracle with --snapshots
serve --port 0 --openenv SHOP --preview | --preview with --mcp.*--openenv
serve --mcp SHOP --openenv SHOP | got --mcp and --openenv
serve --mcp SHOP --site webshop | got --site and --mcp
serve --mcp SHOP --host 127.0.0.1 | --host with --port
score nope.json --env BIRD | nope.json
score ONE --env IAD/Nope-v0 | known: IAD/
score ONE --env BIRD --missing ignored | known: left-out, wrong
score ONE --env BIRD --k 0 | k of 1 or more
score ONE --env BIRD --k two | whole numbers
score ONE --env BIRD --baseline nobody | known: sample-1
score ONE TWO --env BIRD --baseline sample-1 | add --compare
score ONE TWO --env BIRD --baseline nobody --compare | known: sample-1, sample-2
score ONE --env BIRD --out /no/such/folder/x | make the folder
score ONE --env BIRD --tasks 0 | --tasks of 1 or more
score ONE --env BIRD --workers 0 | workers of 1 or more
score ONE --env BIRD --env-arg colour=red | known:
score ONE --env BIRD --split moon | known: dev
score ONE ONE --env BIRD | twice
score ONE --env SHOP | recorded actions
score ACTIONS --env SHOP --r-ves 3 | --r-ves.*IAD/WebShop-v0
score ACTIONS --env BIRD --r-ves 3 | recorded actions only
score ACTIONS --env BIRD | no task 'test-0001'
analyse --jsonl nowhere.jsonl | nowhere.jsonl
analyse --jsonl --inspect LOGS | --inspect and --jsonl
analyse --inspect LOGS/inspect/several.json | --score NAME
analyse --inspect MODELS --score mtch | 'mtch' .near: match
analyse --inspect MODELS --errors drop | 'drop'
analyse --inspect MODELS --pair-by x | pairing.*'x'
analyse --inspect MODELS --baseline x | baseline.*'x'
analyse --inspect MODELS --columns task=q | --columns
analyse --inspect MODELS --k two | --k with whole numbers
analyse --inspect MODELS --k 0 | k of 1 or more, got 0
analyse --jsonl HERE --columns task | KEY=NAME, got 'task'
analyse --jsonl HERE | at least one sample
analyse LOGS | at least one sample
analyse --atif HERE | trajectories in ATIF
advise nowhere | nowhere
advise RUN --agent x | agent of the run, got 'x'
advise RUN --per usd | usd.*--per calls
advise RUN --per euro | 'euro'
advise RUN --n two | --n with whole numbers
advise RUN --n 0 | n of 1 or more
advise RUN --worth -1 | price of 0 or more
advise RUN --max-calls 0.5 | --max-calls of 4.67 or more
advise RUN --metric grade | 'grade'
advise RUN --metric reward --policy p.toml | --metric success with --policy
advise RUN --spending 2 | --policy FILE with --spending
reselect RUN --verifier oracle --out RUN | another folder
report nowhere | run folder, a model folder or a folder of model folders.*nowhere
view nowhere | iad train or iad improve
train bc nowhere --out m | expected
train cb nowhere --out m | recipe
train simulator o.jsonl --out s | --env ENV
explore SHOP --how bfs --out r | way to explore
explore SHOP --critic oracle --how mcts --tasks 1 --out r | without gold
improve SHOP --method sft --out i | method
improve SHOP --buffer last --out i | known: all, newest
reproduce | one of iad, agentq
reproduce react | known paper
reproduce agentq --agent random --out a | no agent for Agent Q.*random
"""
ROWS = [tuple(line.split(" | ", 1)) for line in ERRORS.strip().splitlines()]


@pytest.mark.parametrize(("line", "said"), ROWS, ids=[line for line, _ in ROWS])
def test_bad_input_is_one_sentence_and_status_2(line: str, said: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IAD_INDEX", str(tmp_path / "index"))
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    asked = [
        re.sub(r"[A-Z]{3,}(?=$|/)", lambda name: str(PLACES.get(name[0], name[0])), word) for word in shlex.split(line)
    ]
    done = iad(*asked)
    assert done.exit_code == 2, done.output
    assert re.search(said, done.stderr), done.stderr
    assert (done.stderr.count("\n"), done.stdout) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] in ([], ["index"])


@pytest.mark.parametrize("command", ["compare IAD/WebShop-v0", "run IAD/WebShop-v0", "score x", "train bc x", "serve"])
def test_an_unknown_option_is_named(command: str) -> None:
    done = iad(*command.split(), "--colour", "red")
    assert (done.exit_code, "--colour" in done.stderr, done.stdout) == (2, True, "")


SUITES = [
    ('env = "IAD/WebShop-v0"\nstrategy = "iad"', "near: strategies"),
    ('env = "IAD/WebShop-v0"\ntasks = "many"', "whole number for tasks"),
    ('env = "IAD/WebShop-v0"\ntasks = [1, 2]', "whole number for tasks"),
    ('env = "IAD/WebShop-v0"\nseed = true', "whole number, or a list of them, for seed"),
    ('env = "IAD/WebShop-v0"\nn = []', "list of them"),
    ('env = "IAD/WebShop-v0"\n[budget]\n"run.dollars" = 3', r"scope\[.role\].axis"),
    ('env = "IAD/WebShopp-v0"', "near: IAD/WebShop"),
    ('[run]\nenv = "IAD/WebShop-v0"', "double the brackets"),
    ('env = "IAD/WebShop-v0', "TOML"),
    ("tasks = 3", "environment"),
    ('[[run]]\nenv = "IAD/WebShop-v0"\n[[run]]\nenv = "IAD/WebShop-v0"', "a name"),
    (None, "suite.toml, which does not exist"),
]


@pytest.mark.parametrize(("content", "said"), SUITES)
def test_a_file_that_makes_no_sense_is_refused(content: str | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "suite.toml").write_text(content)
    done = iad("compare", "--config", tmp_path / "suite.toml", "--out", tmp_path / "run")
    assert (done.exit_code, done.stderr.count("\n"), (tmp_path / "run").exists()) == (2, 1, False)
    assert re.search(said, done.stderr), done.stderr


@pytest.mark.parametrize(("option", "package"), [("--mcp", "mcp"), ("--openenv", "openenv")])
def test_a_framework_that_is_not_installed_is_named(option: str, package: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = iad("serve", option, "IAD/WebShop-v0", "--port", "0")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{package!r}, which is not installed; {extra_command(package)}" in done.stderr
