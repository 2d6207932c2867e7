"""The page of a run as a person meets it: as a file and over HTTP, on a phone and on a desk, with keys alone."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import Score, Snapshot, Transition
from iad_policy import Candidate, State, Verdict, evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.results import read_results
from iad_policy.report.viewer.attempts import attempts_of
from iad_policy.report.viewer.report import write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.run.journal import RunStopped
from iad_policy.strategies.building_blocks.tree_record import grown
from tests.browser import Browsers, missing
from tests.iad_policy.evaluation_toy import Dials, DialsEnv, EasyDials, Guesser, Liker
from webshop_server.site.server import Server

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
SHOP = "IAD/WebShop-v0"
N_TASKS = 8
ISOLATES = dict.fromkeys(map(ord, "\u2068\u2069"))
"""Marks around a text that keep its direction of writing from what is around it."""
NASTY = "<img src=x onerror='document.title=1'><script>document.title=2</script>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    evaluate(SHOP, ["single", "bon", "iad"], tasks=N_TASKS, n=[1, 3], match="proposals", out=folder)
    return folder


@pytest.fixture
def driver(browsers: Browsers) -> Iterator[Any]:
    """A browser whose console has no error when a test ends."""
    driver = browsers.selenium((1400, 900)).driver
    complaints(driver)  # of pages of other tests
    yield driver
    assert complaints(driver) == []


def wait(driver: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 30, 0.05).until(lambda own: own.execute_script(f"return {script}"))


def opened(driver: Any, path: Path, fragment: str = "") -> None:
    driver.get("about:blank")
    driver.get(f"file://{path / 'report.html'}{fragment}")
    wait(driver, "document.getElementById('main')")


def shown_alone(driver: Any, folder: Path, label: str = "single", **given: Any) -> Any:
    """Run an agent on one task of the shop, open its first step, and return the episode's record."""
    evaluate(SHOP, [label], 1, verifier="none", out=folder, **given)
    (record,) = read_results(folder).records[label]
    opened(driver, folder, f"#episode=0.{record.key}&step=0")
    return record


def press(driver: Any, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    ActionChains(driver).send_keys(getattr(Keys, key, key)).perform()


def texts(driver: Any, selector: str) -> list[str]:
    return list(
        driver.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector)
    )


def complaints(driver: Any) -> list[str]:
    """Return what the browser's console has of errors since it was last asked."""
    driver.command_executor.add_command("getLog", "POST", "/session/$sessionId/se/log")
    lines = driver.execute("getLog", {"type": "browser"})["value"]
    return [line["message"] for line in lines if line["level"] == "SEVERE"]


def resize(driver: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute("executeCdpCommand", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})


def overflow(driver: Any) -> int:
    """How much wider the page is than a phone or a desk's screen."""
    found = []
    for width in (400, 1400):
        resize(driver, width)
        root = "document.documentElement"
        found.append(int(driver.execute_script(f"return {root}.scrollWidth - {root}.clientWidth")))
    return max(found)


def is_clean(driver: Any) -> bool:
    """Whether nothing that an agent wrote has become an element."""
    return bool(driver.execute_script("return !document.querySelector('#page script, #page img, #page code b')"))


def test_the_page_loads_without_an_error_and_tells_what_the_run_reached(driver: Any, run: Path) -> None:
    opened(driver, run)
    assert texts(driver, "h1") == [SHOP]
    results = read_results(run)
    rows = texts(driver, "[aria-label=Scores] td.name")
    assert rows == list(results.records)
    shown = texts(driver, "[aria-label=Scores] tbody tr td:nth-child(2)")
    for said, one in zip(shown, results.figures(10).summaries.values(), strict=True):
        assert said.startswith(f"{one.success:.3f} [")
    assert len(texts(driver, ".tasks tbody tr")) == N_TASKS
    assert "verifier proxy; simulator perfect." in " ".join(texts(driver, "p"))
    assert len(texts(driver, "figure svg polyline")) > 0
    # Strategies at equal spending.
    (matched,) = json.loads((run / "summary.json").read_text())["matched"].values()
    area = "[aria-label='At equal spending']"
    assert texts(driver, f"{area} td.name") == list(matched["at"])
    assert texts(driver, f"{area} th")[1:-2] == [f"{budget:.1f} proposals" for budget in matched["budgets"]]
    (last,) = [line for line in driver.find_elements("css selector", f"{area} tbody tr") if line.text.startswith("iad")]
    for found in matched["at"]["iad"]:
        assert "not reached" in last.text if found is None else f"{found['value']:.3f} (" in last.text
    assert overflow(driver) <= 0


def test_the_page_lists_why_tasks_failed_with_links_to_them_and_the_flaky_ones(driver: Any, tmp_path: Path) -> None:
    figures = evaluate(SHOP, ["single"], 12, seed=[0, 1], verifier="none", out=tmp_path).figures(10)
    opened(driver, tmp_path)
    area = "[aria-label='Why tasks failed']"
    shown = dict(zip(texts(driver, f"{area} .said"), texts(driver, f"{area} td.name"), strict=True))
    assert shown.keys() == figures.failed.keys() != set()
    for why, tasks in shown.items():
        assert set(tasks.split()) == set(figures.failed[why]["single"])
    flaky = figures.passes["single"].flaky
    summary = f"Flaky tasks, which some seeds solve and others don't. single: {len(flaky)}."
    assert flaky
    assert summary in texts(driver, ".overview summary")
    driver.find_element("css selector", f"{area} a").click()
    wait(driver, "document.querySelector('.unsolved')")
    assert texts(driver, ".unsolved")[0] == f"Not solved: {next(iter(shown))}"


def test_the_filter_leaves_the_tasks_on_which_strategies_disagree(driver: Any, run: Path) -> None:
    by_task: dict[str, set[float | None]] = {}
    for own in read_results(run).records.values():
        for record in own:
            by_task.setdefault(record.task_id, set()).add(record.success)
    expected = sorted(task for task, reached in by_task.items() if len(reached) > 1)
    assert 0 < len(expected) < N_TASKS
    opened(driver, run, "#show=disagree")
    assert sorted(texts(driver, ".tasks tbody .task")) == expected


def test_an_episode_is_walked_by_keys_shows_every_candidate_and_stands_beside_another(driver: Any, run: Path) -> None:
    traces = Run(run)
    chosen = next(one for one in traces.records.values() if one.strategy == "iad" and one.n == 3 and one.n_steps > 1)
    steps = traces.episode(chosen.key).steps
    opened(driver, run, f"#episode=0.{chosen.key}&step=0")
    assert any(one.startswith("The rule: Commit the best") for one in texts(driver, "#main p.quiet"))
    for place, step in enumerate(steps):
        wait(driver, f"document.querySelector('.steps [aria-current]')?.innerText.startsWith('{place + 1} ')")
        assert texts(driver, ".card pre.action") == [one.action for one in step.decision.candidates]
        (committed,) = texts(driver, ".card.committed pre.action")
        assert committed == step.action
        score = step.decision.committed.score
        assert f"highest score of {len(step.decision.candidates)} candidates: {score:.3f}" in texts(driver, ".why")[0]
        scores = [float(said) for said in texts(driver, ".card .score b")]
        assert scores == [pytest.approx(one.verdict.score, abs=5e-4) for one in step.decision.candidates if one.verdict]
        assert driver.execute_script("return location.hash").endswith(f"step={place}")
        assert overflow(driver) <= 0
        press(driver, "ARROW_RIGHT")
    task = texts(driver, "#main h2")
    press(driver, "ARROW_DOWN")
    wait(driver, f"document.querySelector('#main h2').innerText !== {task[0]!r}")
    press(driver, "ESCAPE")
    wait(driver, "document.querySelector('.tasks')")
    single = next(one for one in traces.records.values() if (one.task_id, one.strategy) == (chosen.task_id, "single"))
    opened(driver, run, f"#episode=0.{single.key},0.{chosen.key}&step=0")
    assert [title.partition(": ")[2] for title in texts(driver, ".sides h2")] == ["single", "iad n=3"]


class NastyVerifier:
    """Scores everything alike, and says nothing good."""

    information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        return [Verdict(0.5, NASTY, details={NASTY: NASTY}) for _ in candidates]


def test_what_an_agent_wrote_stays_text_in_candidates_attempts_trees_and_labels(driver: Any, tmp_path: Path) -> None:
    def nasty(observation: Any, info: Any, rng: Any) -> str:
        return f"{NASTY}<b>{NASTY}{rng.random()}</b>"

    arguments: dict[str, Any] = {"agent": nasty, "verifier": NastyVerifier(), "env_args": {"max_steps": 3}}
    evaluate(SHOP, ["artis", "mcts"], 1, n=2, out=tmp_path, baseline="mcts", **arguments)
    summary = json.loads((tmp_path / "summary.json").read_text())
    for name in ("env", "label", "equal_on", "verifier", "simulator", "split"):
        summary[name] = NASTY  # from somebody else
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    write_report(tmp_path)
    opened(driver, tmp_path)
    assert texts(driver, "h1") == [NASTY]
    assert is_clean(driver)
    for label, selector in (("artis", ".attempt li code"), ("mcts", ".drawn .action")):
        (record,) = read_results(tmp_path).records[label]
        assert record.n_steps > 1
        for step in range(2):
            opened(driver, tmp_path, f"#episode=0.{record.key}&step={step}")
            driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
            wait(driver, "document.querySelector('.steps [aria-current]')")
            assert any("HTML" in said for said in texts(driver, ".steps button"))
            assert driver.title.endswith("iad")
            assert is_clean(driver)
            assert all(NASTY in action for action in texts(driver, ".card pre.action"))
            if step == 0 and label == "artis":
                said = driver.execute_script(
                    "return [...document.querySelectorAll('.attempt pre')].map(e => e.textContent)"
                )
                assert sum(one.startswith("Verdict: ") and NASTY in one for one in said) == 2
            if step == 0:
                labels = "[...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
                assert all("HTML" in said for said in driver.execute_script(f"return {labels}", selector))


def test_attempts_are_shown_with_their_actions_and_their_evaluation(driver: Any, tmp_path: Path) -> None:
    evaluate(SHOP, {"artis": "artis"}, 1, n=2, out=tmp_path, baseline="artis")
    traces = Run(tmp_path)
    (key,) = traces.records
    decision = traces.episode(key).steps[0].decision
    opened(driver, tmp_path, f"#episode=0.{key}&step=0")
    attempts = attempts_of(decision)
    assert texts(driver, ".attempt > ol > li") == [one.action for own in attempts for one in own.candidates]
    chips = " ".join(texts(driver, ".attempt > header"))
    assert chips.count("evaluation: passed") == sum(own.has_passed is True for own in attempts)
    assert chips.count("evaluation: failed") == sum(own.has_passed is False for own in attempts)
    (own,) = [texts(driver, "#main .candidates > .card:not(.attempt) pre.action")]
    assert own == [decision.committed.action]
    assert "It was proposed after 2 attempts in simulation." in texts(driver, ".why")[0]
    assert overflow(driver) <= 0


def test_pages_are_labelled_by_what_changed(driver: Any, tmp_path: Path) -> None:
    first = "<html><head><title>Menu</title></head><body><h1>Lunch</h1><p>Soup</p></body></html>"
    pages = (first, first.replace("<p>Soup</p>", "<p>Stew</p><p>Salad</p>"), first.replace("Soup", "Stew"))
    shown_alone(driver, tmp_path, agent=lambda observation, info: pages[info["step"]], env_args={"max_steps": 3})
    assert texts(driver, ".steps button") == [
        f"1 Menu, HTML, {len(first)} characters",
        "2 HTML, +2 −1 parts: Stew",
        "3 HTML, +0 −1 parts, without: Salad",
    ]


def test_the_verifier_is_set_against_what_came_out(driver: Any, run: Path) -> None:
    known = json.loads((run / "summary.json").read_text())["verifier_scores"]
    assert [one["rows"] for one in known] == [
        ["bon n=1", "bon n=3", "iad n=1", "iad n=3"],
        *[[one] for one in known[0]["rows"]],
    ]
    opened(driver, run)
    for place, one in enumerate(known):
        driver.execute_script(
            "const all = [...document.querySelectorAll('select')];"
            "const one = all.find((other) => other.options[0].label === 'all strategies');"
            "one.selectedIndex = arguments[0]; one.dispatchEvent(new Event('change'))",
            place,
        )
        charts = "document.querySelector('svg[aria-label^=\"success rate by score\"]').closest('.charts')"
        assert driver.execute_script(f"return {charts}.querySelectorAll('figure:first-child circle').length") == len(
            one["bins"]
        )
        n = one["evidence"]["n_pos"] + one["evidence"]["n_neg"]
        said = driver.execute_script(f"return {charts}.previousElementSibling.innerText")
        assert said.startswith(f"{n} episodes: {one['evidence']['n_pos']} succeeded")
    assert overflow(driver) <= 0


MARKED = ("\u202ereversed 1", "\u2069\u2069\u202eclosed early 2", "\u2067\u2067left open 3", "\u05d0\u05d1\u05d2 4")


class AnyWord(DialsEnv):
    """Gives a reward for any text. Its tasks are named by texts that change the direction of writing."""

    def __init__(self) -> None:
        super().__init__(1)
        self._tasks = {name: Dials(name) for name in MARKED}
        self._task_ids = list(MARKED)

    def _transition(self, state: str, action: str, rng: Any) -> Transition:
        return Transition(action, "", True)

    def _score(self, task: Dials, now: Snapshot, memory: Any) -> Score:
        return Score(1.0, 1.0, True, {}, None)


def test_what_changes_the_direction_of_writing_changes_its_own_text_only(driver: Any, tmp_path: Path) -> None:
    def named(observation: Any, info: Any) -> str:
        return str(info["task_id"])

    evaluate(AnyWord, ["single"], len(MARKED), agent=named, verifier="none", out=tmp_path)
    places = """
        const [selector, start, n] = arguments;
        const found = [...document.querySelectorAll(selector)].find((one) => one.textContent.startsWith(start));
        const node = found.lastChild;
        const letters = [...Array(n).keys()].map((place) => node.length - n + place);
        return letters.filter((place) => node.data[place] !== " ").map((place) => {
          const range = document.createRange();
          range.setStart(node, place);
          range.setEnd(node, place + 1);
          const box = range.getBoundingClientRect();
          return [Math.round(box.top), box.left];
        });
    """
    for record in read_results(tmp_path).records["single"]:
        opened(driver, tmp_path, f"#episode=0.{record.key}&step=0")
        for selector, start, after in (("#main p", "Committed: ", "reward 1.000"), ("#main h2", "", ": single")):
            found = driver.execute_script(places, selector, start, len(after))
            assert sorted(found) == found, (record.task_id, after)  # each letter after the one before


def test_a_fallback_a_single_step_and_a_page_as_action_are_said_in_words(driver: Any, tmp_path: Path) -> None:
    page = f"<!DOCTYPE html><html><head><title>Lunch menu</title></head><body>{NASTY * 3}</body></html>"

    def first_nothing_then_a_page(observation: Any, info: Any) -> Any:
        return Candidate(None, error="no idea") if info["step"] == 0 else page

    def run(n_steps: int) -> tuple[str, str]:
        """What is said of the first step, and what was committed in it."""
        given: Any = {"agent": first_nothing_then_a_page, "env_args": {"max_steps": n_steps}}
        record = shown_alone(driver, tmp_path / str(n_steps), **given)
        return " ".join(texts(driver, "#main p")), record.actions[0]

    said, nothing = run(2)
    assert nothing == ""
    assert "· 2 steps" in said
    assert "Committed as fallback, as no candidate was an action: (nothing)" in said
    assert texts(driver, ".card .chip") == ["replaced by a fallback"]
    labels = texts(driver, ".steps button")
    assert labels[0] == "1 (nothing)"
    assert labels[1] == f"2 Lunch menu, HTML, {len(page)} characters"
    assert driver.title.endswith("iad")
    assert "· 1 step ·" in run(1)[0]


def test_the_list_tells_tasks_by_their_instruction_and_finds_them_by_it(driver: Any, run: Path) -> None:
    told = {record.task_id: record.instruction for own in read_results(run).records.values() for record in own}
    opened(driver, run)
    shown = driver.execute_script(
        "return [...document.querySelectorAll('.tasks tbody tr')].map("
        "(one) => [one.querySelector('.task').innerText, one.lastChild.title])"
    )
    assert dict(shown) == told
    seen = "return [...document.querySelectorAll('.tasks td.told, .told-here')].filter((one) => one.offsetWidth)"
    assert driver.execute_script(f"{seen}.map((one) => one.textContent)") == [text for _, text in shown]
    task, instruction = next(iter(told.items()))
    press(driver, "/")
    press(driver, instruction.upper())
    assert texts(driver, ".tasks tbody .task") == [task]


def test_what_success_means_stands_in_the_tables_of_the_page(driver: Any, tmp_path: Path) -> None:
    evaluate(EasyDials, ["single", "bon"], 4, agent=Guesser(), verifier=Liker(), out=tmp_path)
    opened(driver, tmp_path)
    headings = texts(driver, ".overview th")
    assert headings.count("success (progress >= 0.5)") == 2
    assert "success (progress >= 0.5) easy/hard" in headings
    assert "✓ success (progress >= 0.5)," in " ".join(texts(driver, "#main p"))


def test_over_http_runs_are_shown_together_and_one_that_goes_on_grows(driver: Any, run: Path, tmp_path: Path) -> None:
    for name in ("config.json", "answers.jsonl"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    episodes = (run / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "episodes.jsonl").write_bytes(b"".join(episodes[:10]))
    with Server(create_app([run, tmp_path], every_s=0.2)) as server:
        driver.get(server.address)
        wait(driver, "document.querySelectorAll('.tasks tbody tr').length")
        assert len(texts(driver, "h1")) == 2
        cells = "document.querySelectorAll('.tasks tbody a').length"
        assert driver.execute_script(f"return {cells}") == len(episodes) + 10
        with (tmp_path / "episodes.jsonl").open("ab") as file:
            file.write(b"".join(episodes[10:]))
        wait(driver, f"{cells} === {2 * len(episodes)}")
        driver.execute_script("document.querySelectorAll('.tasks tbody a')[0].click()")
        wait(driver, "document.querySelector('.card pre.action')")
        driver.get("about:blank")  # as it would ask on when the server has ended


def test_the_list_is_read_on_while_its_first_part_is_shown(driver: Any, run: Path) -> None:
    records = Run(run).records
    with Server(create_app([run], n_listed_first=7, n_listed=3)) as server:
        driver.get(server.address)
        cells = "document.querySelectorAll('.tasks tbody a').length"
        wait(driver, f"{cells} === {len(records)}")
        wait(driver, f"document.querySelector('[role=status]').innerText === '{N_TASKS} of {N_TASKS} tasks'")
        last = max(records.values(), key=lambda one: one.task_id)
        driver.get("about:blank")
        driver.get(f"{server.address}#episode=0.{last.key}&step=0")  # not in the first part
        wait(driver, "document.querySelector('.card pre.action')")
        assert texts(driver, "#main h2")[0].startswith(f"{last.task_id}: ")
        driver.get("about:blank")


def test_a_search_shows_its_tree(tmp_path: Path, driver: Any) -> None:
    evaluate(SHOP, {"mcts": "mcts"}, tasks=1, n=4, out=tmp_path, baseline="mcts")
    traces = Run(tmp_path)
    (key,) = traces.records
    step = traces.episode(key).steps[0]
    assert step.before is not None
    kept = step.trees[0]
    tree = grown(kept.record, step.before, states=kept.states, candidates=kept.candidates)
    opened(driver, tmp_path, f"#episode=0.{key}&step=0")
    wait(driver, "document.querySelector('.tree')")
    first = ".tree > ul > li > .branch, .tree > ul > li > details > summary .branch"
    rows = driver.execute_script(f"return [...document.querySelectorAll('{first}')].map((one) => one.textContent)")
    assert len(rows) == len(tree.root.edges)
    for row, edge in zip(rows, tree.root.edges, strict=True):
        assert row.startswith(edge.candidate.action[:80])
        assert f"N {edge.n} · Q {edge.q:.2f} · rank {edge.rank:.2f}" in row
    committed = driver.execute_script("return document.querySelectorAll('.tree .branch.committed').length")
    assert committed == 1
    drawn = "return [...document.querySelectorAll('.drawn .action')].map((one) => one.textContent)"
    visited = [edge for node in tree.nodes() for edge in node.edges if edge.n]
    assert len(driver.execute_script(drawn)) == len(visited)
    (chosen,) = driver.execute_script(drawn.replace(".action", ".action.committed"))
    assert step.action.startswith(chosen.removesuffix("…"))
    edge = next(edge for edge in tree.root.edges if edge.candidate.action == step.action)
    (why,) = texts(driver, ".why")
    assert why.startswith(f"Why: {edge.n} of {tree.root.n} visits at the root, the most")
    assert f"mean value {edge.q:.3f}" in why
    assert overflow(driver) <= 0


@pytest.mark.parametrize("column", ["[aria-label=Scores] tbody td:nth-child(4)", ".tasks tbody td:nth-child(5)"])
def test_on_a_telephone_the_scores_of_every_strategy_are_seen_without_scrolling(
    driver: Any, tmp_path: Path, column: str
) -> None:
    evaluate(SHOP, ["single", "bon-sc", "iad"], tasks=1, n=2, out=tmp_path)
    opened(driver, tmp_path)
    resize(driver, 400)
    wait(driver, f"document.querySelector('{column}')")
    assert driver.execute_script(f"return document.querySelector('{column}').getBoundingClientRect().right") < 400


def test_long_names_leave_room_for_the_figures(tmp_path: Path, driver: Any) -> None:
    names = {f"{'a_name_that_says_all_that_the_strategy_does_' * 3}{one}": one for one in ("single", "bon")}
    evaluate(SHOP, names, tasks=1, n=2, out=tmp_path, baseline=next(iter(names)))
    opened(driver, tmp_path)
    assert [said.replace("\n", "") for said in texts(driver, "[aria-label=Scores] td.name")] == list(names)
    first, second = "[aria-label=Scores] tbody td:nth-child(1)", "[aria-label=Scores] tbody td:nth-child(2)"
    right = "document.querySelector(arguments[0]).getBoundingClientRect().right / innerWidth"
    for width in (400, 1400):
        resize(driver, width)
        assert driver.execute_script(f"return {right}", first) < 0.55
        assert driver.execute_script(f"return {right}", second) < 1
    assert overflow(driver) <= 0


def test_every_verifier_is_labelled_and_one_that_reads_gold_by_a_banner(driver: Any, tmp_path: Path) -> None:
    evaluate(SHOP, ["single", "bon"], tasks=2, n=2, verifier=["proxy", "oracle"], out=tmp_path)
    opened(driver, tmp_path)
    assert [one.translate(ISOLATES) for one in texts(driver, "p.banner")] == [
        "oracle: oracle verifier: reads the true score of each step; for diagnosis only, not a fair result"
    ]
    quiet = [one.translate(ISOLATES) for one in texts(driver, "p.quiet")]
    assert "proxy: proxy verifier: executes, parses or matches; never reads gold" in quiet


class Silent:
    """Breaks the contract of verifiers, so the episode stops in its first decision."""

    information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        return []


def test_a_step_in_which_the_episode_stopped_has_no_action(driver: Any, tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match="expected 2 verdicts"):
        evaluate(SHOP, ["bon"], 1, n=2, verifier=Silent(), out=tmp_path)
    (key,) = Run(tmp_path).records
    write_report(tmp_path)
    opened(driver, tmp_path, f"#episode=0.{key}&step=0")
    assert "No action was committed: the episode stopped here." in texts(driver, "#main p.warn")
    assert texts(driver, "#main ol.steps li") == ["1 stopped"]
