"""The page of a run as a person meets it: as a file and over HTTP, on a phone and on a desk, with keys alone."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import Score, Snapshot, Transition
from iad_policy import Candidate, State, Verdict, evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.results import read_results
from iad_policy.report.viewer.report import write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.report.viewer.shown import run_json
from iad_policy.run.journal import RunStopped
from tests.browser import Browsers, missing
from tests.iad_policy.evaluation_toy import Dials, DialsEnv, EasyDials, Guesser, Liker
from tests.iad_policy.report.snapshots import require_snapshot
from webshop_server.site.server import Server

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
SHOP = "IAD/WebShop-v0"
N_TASKS = 6
ISOLATES = dict.fromkeys(map(ord, "\u2068\u2069"))
"""Marks around a text that keep its direction of writing from what is around it."""
NASTY = "<img src=x onerror='document.title=1'><script>document.title=2</script>"


def timeless(folder: Path) -> Path:
    """Give all calls of a run a second, so that its pages are the same whenever they are made, and write its report."""
    episodes = folder / "episodes.jsonl"
    episodes.write_text(re.sub(r'"(seconds|wall_s)":[\d.e-]+', r'"\1":1.0', episodes.read_text()))
    (folder / "summary.json").unlink()
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "shop"
    evaluate(SHOP, ["single", "bon", "iad"], N_TASKS, n=[1, 3], seed=[0, 1], match="proposals", out=folder)
    return timeless(folder)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy") / "dials"
    how: dict[str, Any] = {"agent": Guesser(), "verifier": Liker(), "n": 4, "baseline": "bon"}
    evaluate(EasyDials, ["bon", "artis", "mcts"], 2, out=folder, **how)
    return timeless(folder)


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


def page(driver: Any, selector: str = "#page") -> str:
    """The lines that are read on a part of the page, which is not too wide for a telephone."""
    assert overflow(driver) <= 0
    lines = "\n".join(texts(driver, selector)).translate(ISOLATES).split("\n")
    return "\n".join(line for line in lines if line.strip())


@pytest.mark.parametrize("name", ["run", "toy"])
def test_a_page_says_what_was_looked_at(driver: Any, name: str, request: pytest.FixtureRequest) -> None:
    """What was run, the scores, equal spending, why tasks failed, and all tasks."""
    opened(driver, request.getfixturevalue(name))
    assert len(texts(driver, "figure svg polyline")) > 0
    driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    require_snapshot(f"page_{name}.txt", page(driver))


def test_a_reason_leads_to_an_episode_and_the_filter_leaves_what_strategies_disagree_on(driver: Any, run: Path) -> None:
    opened(driver, run)
    area = "[aria-label='Why tasks failed']"
    why = texts(driver, f"{area} .said")[0]
    driver.find_element("css selector", f"{area} a").click()
    wait(driver, "document.querySelector('.unsolved')")
    assert texts(driver, ".unsolved")[0] == f"Not solved: {why}"
    by_task: dict[str, set[float | None]] = {}
    for record in Run(run).records.values():
        by_task.setdefault(record.task_id, set()).add(record.success)
    expected = sorted(task for task, reached in by_task.items() if len(reached) > 1)
    assert 0 < len(expected) < N_TASKS
    opened(driver, run, "#show=disagree")
    assert sorted(texts(driver, ".tasks tbody .task")) == expected


def test_an_episode_is_walked_by_keys_and_stands_beside_another(driver: Any, run: Path) -> None:
    records = Run(run).records.values()
    chosen = next(one for one in records if one.strategy == "iad" and one.n == 3 and one.n_steps > 1)
    opened(driver, run, f"#episode=0.{chosen.key}&step=0")
    for place in range(chosen.n_steps):
        wait(driver, f"document.querySelector('.steps [aria-current]')?.innerText.startsWith('{place + 1} ')")
        assert driver.execute_script("return location.hash").endswith(f"step={place}")
        if place == 1:
            require_snapshot("page_step.txt", page(driver, "#main"))
        press(driver, "ARROW_RIGHT")
    press(driver, "ARROW_DOWN")
    wait(driver, f"!location.hash.includes({chosen.key!r})")
    press(driver, "ESCAPE")
    wait(driver, "document.querySelector('.tasks')")
    single = next(one for one in records if (one.task_id, one.strategy) == (chosen.task_id, "single"))
    opened(driver, run, f"#episode=0.{single.key},0.{chosen.key}&step=0")
    assert [title.partition(": ")[2] for title in texts(driver, ".sides h2")] == ["single", "iad n=3"]


@pytest.mark.parametrize("strategy", ["artis", "mcts"])
def test_attempts_and_trees_are_shown_with_what_came_of_them(driver: Any, toy: Path, strategy: str) -> None:
    key = next(one.key for one in Run(toy).records.values() if one.strategy == strategy)
    opened(driver, toy, f"#episode=0.{key}&step=0")
    wait(driver, f"document.querySelector('{'.tree' if strategy == 'mcts' else '.attempt'}')")
    require_snapshot(f"page_{strategy}.txt", page(driver, "#main"))
    committed = "return [...document.querySelectorAll('.drawn .action.committed')].map((one) => one.textContent)"
    assert len(driver.execute_script(committed)) == (strategy == "mcts")


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
            if step == 0:
                content = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
                assert all("HTML" in said for said in driver.execute_script(content, selector))
                said = driver.execute_script(content, ".attempt pre")
                n_verdicts = sum(one.startswith("Verdict: ") and NASTY in one for one in said)
                assert n_verdicts == (2 if label == "artis" else 0)


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
    known = run_json(Run(run))["verifier_scores"]
    assert [one["rows"] for one in known] == [known[0]["rows"], *([one] for one in known[0]["rows"])]
    opened(driver, run)
    for place, one in enumerate(known):
        driver.execute_script(
            "const all = [...document.querySelectorAll('select')];"
            "const one = all.find((other) => other.options[0].label === 'all strategies');"
            "one.selectedIndex = arguments[0]; one.dispatchEvent(new Event('change'))",
            place,
        )
        charts = "document.querySelector('svg[aria-label^=\"success rate by score\"]').closest('.charts')"
        dots = driver.execute_script(f"return {charts}.querySelectorAll('figure:first-child circle').length")
        assert dots == len(one["bins"])
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
    assert set(texts(driver, ".tasks tbody .task")) == {task}


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
        n_rows = 2 * N_TASKS  # of two seeds
        wait(driver, f"document.querySelector('[role=status]').innerText === '{n_rows} of {n_rows} tasks'")
        last = max(records.values(), key=lambda one: one.task_id)
        driver.get("about:blank")
        driver.get(f"{server.address}#episode=0.{last.key}&step=0")  # not in the first part
        wait(driver, "document.querySelector('.card pre.action')")
        assert texts(driver, "#main h2")[0].startswith(f"{last.task_id}: ")
        driver.get("about:blank")


def test_on_a_telephone_the_scores_of_every_strategy_are_seen_without_scrolling(driver: Any, tmp_path: Path) -> None:
    evaluate(SHOP, ["single", "bon-sc", "iad"], tasks=1, n=2, out=tmp_path)
    opened(driver, tmp_path)
    resize(driver, 400)
    for column in ("[aria-label=Scores] tbody td:nth-child(4)", ".tasks tbody td:nth-child(5)"):
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
