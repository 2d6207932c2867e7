"""The page of a run or a training as a person meets it: as a file and over HTTP, on a phone and a desk, by keys."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import Score, Snapshot, Transition
from iad_policy import Candidate, State, Verdict, evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.results import read_results
from iad_policy.report.viewer.report import write_any_report, write_report
from iad_policy.report.viewer.server import create_app
from iad_policy.report.viewer.shown import run_json
from iad_policy.run.journal import RunStopped
from iad_policy.trained.models import MODEL, ROUNDS, TRAINING
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
    evaluate(EasyDials, ["bon", "artis", "mcts"], 2, agent=Guesser(), verifier=Liker(), n=4, baseline="bon", out=folder)
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


def press(driver: Any, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    ActionChains(driver).send_keys(getattr(Keys, key, key)).perform()


def texts(driver: Any, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)"
    return list(driver.execute_script(script, selector))


def open_details(driver: Any) -> None:
    driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")


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
    found, root = [], "document.documentElement"
    for width in (400, 1400):
        resize(driver, width)
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
    open_details(driver)
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


class NastyVerifier(Liker):
    """Scores everything alike, and says nothing good."""

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        return [Verdict(0.5, NASTY, details={NASTY: NASTY}) for _ in candidates]


def test_what_an_agent_wrote_stays_text_in_candidates_attempts_trees_and_labels(driver: Any, tmp_path: Path) -> None:
    def nasty(observation: Any, info: Any, rng: Any) -> str:
        return f"{NASTY}<b>{NASTY}{rng.random()}</b>"

    given: dict[str, Any] = {"agent": nasty, "verifier": NastyVerifier(), "env_args": {"max_steps": 3}, "n": 2}
    evaluate(SHOP, ["artis", "mcts"], 1, out=tmp_path, baseline="mcts", **given)
    summary = json.loads((tmp_path / "summary.json").read_text())
    # From somebody else.
    summary |= dict.fromkeys(("env", "label", "equal_on", "verifier", "simulator", "split"), NASTY)
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
            open_details(driver)
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
    evaluate(AnyWord, ["single"], len(MARKED), agent=lambda _, info: info["task_id"], verifier="none", out=tmp_path)
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


def test_a_fallback_a_single_step_and_pages_as_actions_are_said_in_words(driver: Any, tmp_path: Path) -> None:
    first = "<html><head><title>Menu</title></head><body><h1>Lunch</h1><p>Soup</p></body></html>"
    pages = (first, first.replace("<p>Soup</p>", "<p>Stew</p><p>Salad</p>"), first.replace("Soup", "Stew"))
    actions = (Candidate(None, error="no idea"), *pages)

    def said(n_steps: int) -> str:
        """What is said of the first step, in which nothing is committed."""
        given: Any = {"agent": lambda _, info: actions[info["step"]], "env_args": {"max_steps": n_steps}}
        folder = tmp_path / str(n_steps)
        evaluate(SHOP, ["single"], 1, verifier="none", out=folder, **given)
        (record,) = Run(folder).records.values()
        assert record.actions[0] == ""
        opened(driver, folder, f"#episode=0.{record.key}&step=0")
        return " ".join(texts(driver, "#main p"))

    shown = said(4)
    assert "· 4 steps" in shown
    assert "Committed as fallback, as no candidate was an action: (nothing)" in shown
    assert texts(driver, ".card .chip") == ["replaced by a fallback"]
    assert texts(driver, ".steps button") == [
        "1 (nothing)",
        f"2 Menu, HTML, {len(first)} characters",
        "3 HTML, +2 −1 parts: Stew",
        "4 HTML, +0 −1 parts, without: Salad",
    ]
    assert "· 1 step ·" in said(1)


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


def test_over_http_runs_are_read_in_parts_and_one_that_goes_on_grows(driver: Any, run: Path, tmp_path: Path) -> None:
    for name in ("config.json", "answers.jsonl"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    episodes = (run / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "episodes.jsonl").write_bytes(b"".join(episodes[:10]))
    n_rows, cells = 2 * N_TASKS, "document.querySelectorAll('.tasks tbody a').length"  # of two seeds
    last = max(Run(run).records.values(), key=lambda one: one.task_id)
    with Server(create_app([run, tmp_path], every_s=0.2, n_listed_first=7, n_listed=3)) as server:
        driver.get(server.address)
        wait(driver, f"{cells} === {len(episodes) + 10}")
        wait(driver, f"document.querySelector('[role=status]').innerText === '{n_rows} of {n_rows} tasks'")
        assert len(texts(driver, "h1")) == 2
        with (tmp_path / "episodes.jsonl").open("ab") as file:
            file.write(b"".join(episodes[10:]))
        wait(driver, f"{cells} === {2 * len(episodes)}")
        driver.execute_script("document.querySelectorAll('.tasks tbody a')[0].click()")
        wait(driver, "document.querySelector('.card pre.action')")
        driver.get("about:blank")
        driver.get(f"{server.address}#episode=0.{last.key}&step=0")  # not in the first part
        wait(driver, "document.querySelector('.card pre.action')")
        assert texts(driver, "#main h2")[0].startswith(f"{last.task_id}, shop: ")
        driver.get("about:blank")  # as it would ask on when the server has ended


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
    banners, quiet = ([one.translate(ISOLATES) for one in texts(driver, f"p.{name}")] for name in ("banner", "quiet"))
    assert [one.partition(";")[0] for one in banners] == ["oracle: oracle verifier: reads the true score of each step"]
    assert "proxy: proxy verifier: executes, parses or matches; never reads gold" in quiet


class Silent(Liker):
    """Breaks the contract of verifiers, so the episode stops in its first decision."""

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


@pytest.fixture(scope="module")
def trained(rounds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rounds of training with their reports."""
    folder = shutil.copytree(rounds, tmp_path_factory.mktemp("trained") / "rounds")
    for one in (folder, folder / "model-1"):
        write_any_report(one)
    return folder


def test_a_training_shows_its_curves_where_it_was_stopped_and_what_it_was_on(driver: Any, language: Path) -> None:
    write_any_report(language)
    opened(driver, language)
    require_snapshot("page_training.txt", page(driver))
    assert driver.title == "language · iad"
    # No name of a mark lies on another or outside.
    inside = """
        const svg = document.querySelector('figure svg');
        const whole = svg.getBoundingClientRect();
        const boxes = [...svg.querySelectorAll('text')].map((one) => one.getBoundingClientRect());
        const beside = (a, b) => a.right <= b.left || b.right <= a.left;
        const above = (a, b) => a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
        return boxes.every((one, place) => one.left >= whole.left - 1 && one.right <= whole.right + 1
          && boxes.every((other, at) => at === place || beside(one, other) || above(one, other)));
    """
    assert driver.execute_script(inside)


def test_values_of_a_training_are_read_by_pointer_and_by_keys(driver: Any, trained: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    lines = [json.loads(line) for line in (trained / "model-1" / TRAINING).read_text().splitlines()]
    opened(driver, trained / "model-1")
    assert texts(driver, "figure p")[0].startswith(f"Epoch {len(lines) - 1} (kept): loss ")
    chart = driver.find_element("css selector", "figure svg")
    driver.execute_script("arguments[0].scrollIntoView()", chart)
    ActionChains(driver).move_to_element_with_offset(chart, -chart.size["width"] // 2 + 2, 0).perform()
    assert texts(driver, "figure p")[0] == f"Epoch 1: loss {lines[0]['loss']:.4g}"
    table = "[...document.querySelectorAll('summary')].find((one) => one.innerText === 'Values by epoch')"
    driver.execute_script(f"{table}.focus()")
    press(driver, "ENTER")
    wait(driver, "document.querySelector('details[open] tbody tr')")
    assert texts(driver, "details[open] th") == ["epoch", "loss", "KL (nat)", "kept"]
    rows = [row.split() for row in texts(driver, "details[open] tbody tr")]
    assert len(rows) == len(lines)
    assert (rows[0][:2], rows[0][3:], rows[-1][-1]) == (["1", f"{lines[0]['loss']:.4g}"], ["yes"], "no")
    press(driver, "/")  # there is no search to go to


def test_rounds_show_dev_rewards_and_the_chosen_one(driver: Any, trained: Path) -> None:
    known = json.loads((trained / ROUNDS).read_text())
    opened(driver, trained)
    rows = [row.split() for row in texts(driver, "[aria-label=Rounds] tbody tr")]
    assert [row[:2] for row in rows] == [[str(place), f"{reward:.3f}"] for place, reward in enumerate(known["dev"])]
    assert [place for place, row in enumerate(rows) if row[-1] == "chosen"] == [known["best"]]
    assert texts(driver, "[aria-label=Models] td.name") == ["model-0", "model-1"]
    assert texts(driver, "[aria-label=Models] tbody tr td:last-child") == ["as planned", "stopped early"]
    assert f"Round {known['best']} has the highest mean reward on dev tasks" in " ".join(texts(driver, "p"))
    assert texts(driver, ".skip") == ["Skip to the trainings"]
    assert overflow(driver) <= 0


def test_trainings_stand_beside_runs_and_are_followed(driver: Any, trained: Path, tmp_path: Path) -> None:
    growing = tmp_path / "growing"
    growing.mkdir()
    whole = (trained / "model-0" / TRAINING).read_text().splitlines(keepends=True)
    (growing / TRAINING).write_text("".join(whole[:5]))
    with Server(create_app([growing, trained / "dev-1"], every_s=0.2)) as server:
        driver.get(server.address)
        wait(driver, "document.querySelectorAll('.tasks tbody tr').length")
        assert (texts(driver, "h1"), texts(driver, ".skip")) == (["growing", SHOP], ["Skip to the episodes"])
        assert "The training is not complete." in " ".join(texts(driver, "p.warn"))
        open_details(driver)
        shutil.copytree(trained / "model-0", growing, dirs_exist_ok=True)
        wait(driver, "document.querySelector('dt')")
        assert f"Trained for {len(whole)} of {len(whole)} epochs." in " ".join(texts(driver, "p"))
        assert len(texts(driver, "details[open] tbody tr")) == len(whole)
        driver.execute_script("document.querySelectorAll('.tasks tbody a')[0].click()")
        wait(driver, "document.querySelector('.card pre.action')")
        assert overflow(driver) <= 0
        driver.get("about:blank")  # as it would ask on when the server has ended


def test_what_a_models_file_says_stays_text(driver: Any, language: Path) -> None:
    facts = json.loads((language / MODEL).read_text())
    on = {**facts["trained_on"], "tasks": [NASTY], "split": NASTY}
    said = {**facts, "recipe": NASTY, "stopped": NASTY, "start": NASTY, "trained_on": on}
    (language / MODEL).write_text(json.dumps(said))
    write_any_report(language)
    opened(driver, language)
    assert NASTY in texts(driver, "dd")
    assert (is_clean(driver), driver.title, overflow(driver) <= 0) == (True, "language · iad", True)
