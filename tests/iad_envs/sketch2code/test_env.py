"""`IAD/Sketch2Code-v0` from outside: contract 1, answers, settings, users, data, what is shown, and predicted pages."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.errors import BrowserNotFound
from iad_envs.browser.images import encoded, written
from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.sketch2code.env import THUMBNAIL, Sketch2CodeEnv
from iad_envs.sketch2code.predictions import PagePredictions
from iad_envs.sketch2code.simulated_user import COMPLETE, PointingUser, UserTurn
from iad_envs.sketch2code.visual import VISUAL_PARTS
from iad_policy import IADPolicyWrapper
from tests.browser import Browsers, living
from tests.command_line import iad
from tests.contract.environments import ASYNC, EnvironmentContract, Subject, solution_of
from tests.iad_envs.browser.fake_chromium import HARMFUL, make_chromium
from tests.iad_envs.sketch2code.sketch_pages import GIF, TITLES, make_folder
from tests.waiting import until

HALF = "<!DOCTYPE html><html><body><h1>Tea</h1><p>Some words about it.</p></body></html>"


class TestContract(EnvironmentContract):
    @pytest.fixture
    def subject(self, folder: Path) -> Subject:
        def no_page(info: dict[str, Any]) -> str:
            return f"let me think {info['step']}"

        return Subject("IAD/Sketch2Code-v0", no_page, arguments={"data_dir": str(folder)})

    @pytest.mark.parametrize(
        ("mode", "options"), [("sync", None), pytest.param("async", ASYNC, marks=pytest.mark.slow)]
    )
    def test_it_works_in_vectors(self, subject: Subject, mode: str, options: Any) -> None:
        super().test_it_works_in_vectors(subject, mode, options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, browsers: Browsers) -> Iterator[Path]:
    with browsers.leased(assets={"rick.jpg": GIF}):
        yield make_folder(tmp_path_factory.mktemp("data") / "sketch2code")


@pytest.fixture
def make(folder: Path) -> Iterator[Any]:
    made: list[Sketch2CodeEnv] = []

    def make_one(**options: Any) -> Sketch2CodeEnv:
        env = gym.make("IAD/Sketch2Code-v0", **{"data_dir": folder, **options}).unwrapped
        assert isinstance(env, Sketch2CodeEnv)
        made.append(env)
        if "data_dir" not in options:
            env.reset(options={"task_id": "1_0"})
        return env

    yield make_one
    for env in made:
        env.close()


def gold(env: Sketch2CodeEnv) -> str:
    return str(solution_of(env)[0])


def test_the_sketch_is_an_image_of_a_fixed_shape_with_the_title_and_texts_where_asked(make: Any) -> None:
    env = make()
    tasks = ("1_0", "1_1", "2_0", "1_0")
    one, other, third, again = (env.reset(options={"task_id": task})[0]["sketch"] for task in tasks)
    assert (one.shape, str(one.dtype)) == ((1024, 768, 3), "uint8")
    assert [np.array_equal(one, sketch) for sketch in (other, third, again)] == [False, False, True]
    plain, info = env.reset(options={"task_id": "2_0"})
    augmented, _ = make(texts=True).reset(options={"task_id": "2_0"})
    assert TITLES[1] in info["instruction"]
    assert ["Some words about it." in one["text"] for one in (plain, augmented)] == [False, True]


@pytest.mark.parametrize(("answer", "options", "scores"), [
    ("Here:\n```html\n{}\n```\nDone.", {}, (1.0, 1.0)), ("{}" + "x" * 5_000_000, {}, (0.0, 0.0)),
    ("```html\n{}\n```", {"as_published": True}, (0.01, 0.9)),  # with the language
    *((HALF, {"success_at": share}, (0.05, 0.9)) for share in (0.999, 0.05)),
], ids=range(5))  # fmt: skip
def test_a_page_is_scored_in_any_wrapping(answer: str, options: Any, scores: Any, make: Any) -> None:
    env = make(**options)
    _, reward, terminated, _, info = env.step(answer.format(gold(env)))
    assert scores[0] <= reward <= scores[1]
    assert (terminated, info["success"], info["progress"]) == (True, reward >= options.get("success_at", 0.75), reward)
    assert env.success_rule == f"layout >= {options.get('success_at', 0.75)}"
    assert ("expected HTML of at most" in info["page"]["failure"]) == (reward == 0)


def test_a_user_comments_in_steps_but_not_in_simulations_and_progress_is_the_best_layout(make: Any) -> None:
    turns: list[UserTurn] = []

    def user(turn: UserTurn) -> str:
        turns.append(turn)
        return "Wider, please."

    env = make(setting="feedback", user=user, max_steps=3)
    ahead = env.simulate(env.snapshot(), HALF)
    assert ahead.info["page"]["boxes"]["text_block"]
    assert ("success" in ahead.info, turns) == (False, [])
    observation, reward, terminated, truncated, info = env.step(HALF)
    assert ["Wider, please." in one["text"] for one in (observation, ahead.observation)] == [True, False]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (turns[0].reference, turns[0].reference_html, info["facts"]["user_saw_reference"]) == (None, "", False)
    assert HALF in observation["text"]
    assert 0 < info["progress"] < 1
    assert [env.step(html)[4]["progress"] for html in (gold(env), HALF)] == [1.0, 1.0]


def test_users_who_see_the_reference_end_it_and_questions_are_answered(make: Any) -> None:
    env = make(setting="feedback", user=PointingUser())
    observation, _, terminated, _, info = env.step(HALF)
    assert (info["facts"]["user_saw_reference"], terminated) == (True, False)
    assert "are not where they should be" in observation["text"]
    observation, reward, terminated, _, info = env.step(gold(env))
    assert COMPLETE in observation["text"]
    assert (reward, terminated, info["stop_reason"]) == (1.0, True, "done")
    env = make(setting="question", user=lambda turn: f"You asked {turn.question!r}.", max_steps=2)
    _, info = env.reset(options={"task_id": "1_0"})
    assert "ask[...]" in info["available_actions"]
    observation, _, _, _, info = env.step("ask[How many images?]")
    assert "You asked 'How many images?'." in observation["text"]
    _, reward, terminated, truncated, info = env.step(gold(env))
    assert (reward, terminated, truncated, info["stop_reason"]) == (1.0, False, True, "max_steps")
    env = make()
    info = env.step("ask[How many images?]")[4]
    assert info["invalid_action"]
    assert "expected HTML" in info["facts"]["complaint"]


def test_sketch_page_and_reference_are_shown_side_by_side_and_scored_by_their_looks_where_asked(make: Any) -> None:
    env = make(render_mode="rgb_array", visual=True)
    before = env.render()
    parts = env.step(gold(env))[4]["reward_parts"]
    assert set(VISUAL_PARTS) <= set(parts)
    assert parts["text"] == 1.0
    after = env.render()
    assert before.shape == after.shape == (720, 3 * 540 + 16, 3)
    assert before.dtype == np.uint8
    assert np.array_equal(after[:, 548:1088], after[:, 1096:])
    assert not np.array_equal(before, after)


def test_given_sketches_are_used_in_either_layout_of_the_folder(make: Any, folder: Path, tmp_path: Path) -> None:
    picture = np.full((300, 400, 3), 255, dtype=np.uint8)
    picture[100:110] = 0
    for data, pages, sketches in (("flat", "flat", "flat"), ("two", "two/webpages", "two/sketches")):
        for place in (pages, sketches):
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "1.html", tmp_path / pages)
        (tmp_path / sketches / "1_2.png").write_bytes(encoded(picture))
        env = make(data_dir=tmp_path / data)
        observation, info = env.reset()
        found = [*env.task_ids], info["facts"]["sketch"], info["facts"]["sketch_size"]
        assert found == (["1_2"], "given", [576, 768])
        assert observation["sketch"][200].max() < 10


def test_arguments_and_data_that_do_not_fit_are_refused(make: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "1.html", tmp_path)
    (tmp_path / "1_0.png").write_bytes(b"not a picture")
    (tmp_path / "empty").mkdir()
    for call, error, said in (
        (lambda: make(setting="feedback"), ValueError, "a user"),
        (lambda: make(setting="guess"), UnknownTask, "direct, feedback, question"),
        (lambda: make(chromium="/nowhere/chromium"), BrowserNotFound, "apt-get install chromium"),
        (lambda: make(data_dir=tmp_path).reset(), DataNotFound, r"1_0\.png to be a picture"),
        (lambda: make(data_dir=tmp_path / "empty"), DataNotFound, "pages"),
    ):
        with pytest.raises(error, match=said):
            call()


def test_environments_share_a_browser_that_ends_with_the_last_also_where_that_is_dropped(folder: Path) -> None:
    first, second = (Sketch2CodeEnv(data_dir=folder, n_tabs=1) for _ in range(2))
    assert first.renderer is second.renderer
    first.reset(seed=0)
    browser = first.renderer.browser
    first.close()
    assert browser.alive
    del second
    assert not browser.alive
    assert until(lambda: not living(group=browser.process_group))


@pytest.mark.parametrize("verifier", ["proxy", "oracle", "reference:image_iou"])
def test_a_verifier_picks_the_better_page(verifier: str, make: Any) -> None:
    env = make()
    observation, info = env.reset(options={"task_id": "1_0"})
    pages = iter([HALF, gold(env), "no page", "<p>" + "x" * 5_000_000])
    policy = IADPolicyWrapper(lambda observation, info: next(pages), env, strategy="bon", n=4, verifier=verifier)
    assert policy.act(observation, info) == gold(env)
    scores = [candidate.score for candidate in policy.decisions[-1].candidates]
    assert scores[1] > scores[0] > scores[3]


def test_a_run_keeps_a_thumbnail_of_each_candidate_by_content(make: Any, tmp_path: Path) -> None:
    env, pages = make(), iter([HALF, HALF.replace("Tea", "Coffee"), HALF])
    how: dict[str, Any] = {"strategy": "bon", "n": 3, "verifier": "oracle", "log": tmp_path}
    with IADPolicyWrapper(lambda observation, info: next(pages), env, **how) as policy:
        policy.act(*env.reset(seed=0))
    lines = map(json.loads, (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines())
    named = [line["thumbnail"] for line in lines if line["kind"] == "outcome"]
    assert len(named) == 2
    assert {str(path.relative_to(tmp_path)) for path in (tmp_path / "thumbnails").iterdir()} == set(named)
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in named)


@pytest.mark.parametrize(("visual", "score"), [(False, 1.0), (True, 0.0)])
def test_a_page_that_cannot_be_photographed(visual: bool, score: float, make: Any, tmp_path: Path) -> None:
    env = make(chromium=make_chromium(tmp_path, "refuses"), visual=visual)
    for is_simulated in (False, True):
        env.reset(options={"task_id": "1_0"})
        ahead = env.simulate(env.snapshot(), HARMFUL) if is_simulated else None
        _, reward, _, _, info = env.step(HARMFUL)
        found = (reward, info["progress"], info["success"], bool(info["page"]["failure"]))
        assert found == (score, score, bool(score), visual)
        assert {info["reward_parts"][part] for part in ("layout", *(VISUAL_PARTS if visual else ()))} == {score}
        assert ahead is None or ahead.info["page"] == info["page"]


def test_a_thumbnail_says_why_there_is_no_picture(make: Any, tmp_path: Path) -> None:
    chromium = Path(make_chromium(tmp_path, "refuses"))
    env = make(chromium=str(chromium), render_mode="rgb_array")
    assert env.thumbnail(env.snapshot()) is None
    env.step(HARMFUL)
    why = env.renderer.run(HARMFUL, lambda tab, page: tab.screenshot((1, 1)))[0].failure
    assert "Unable to capture screenshot" in why
    assert env.thumbnail(env.snapshot()) == encoded(written(f"no picture: {why}", THUMBNAIL))
    assert (env.screenshot(HARMFUL), env.render().min()) == (None, 0)
    env.renderer.close()
    chromium.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert (env.thumbnail(env.snapshot()) or b"").startswith(b"\x89PNG")


def item(key: str | None, value: Any) -> tuple[str, int, str | None, Any]:
    return f"folder/{key}.html", 0, key, value


def test_an_id_is_a_tasks_or_a_pages_what_is_no_page_is_named_and_times_are_refused(make: Any) -> None:
    form = PagePredictions(make())
    found = form.read([item("1_0", "<p>a"), item("2", "<p>b"), item("3_1", ["<p>c", "<p>d"])])
    pages = [("1_0", "<p>a"), ("2_0", "<p>b"), ("2_1", "<p>b"), ("3_1", "<p>c"), ("3_1", "<p>d")]
    assert [(one.task_id, one.text, one.action) for one in found.answers] == [(*one, one[1]) for one in pages]
    assert (found.problems, found.unknown) == ([], [])
    assert found.notes == ["Predictions named after a page, which count for each of its sketches: 1"]
    found = form.read([item("99_0", "<p>"), item("1_7", "<p>"), item(None, "<p>"), item("1_0", 5)])
    assert (found.answers, found.unknown, found.notes) == ([], ["99_0", "1_7"], [])
    told = ["folder/None.html: expected HTML by id", "folder/1_0.html: expected HTML"]
    assert [problem.split(", got")[0] for problem in found.problems] == told
    with pytest.raises(ValueError, match="--r-ves"):
        form.score([], workers=1, timings=1, advance=bool)


def test_a_folder_of_pages_is_scored(folder: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    shutil.copy(folder / "1.html", pages / "1_0.html")
    shutil.copy(folder / "1.html", pages / "1_1.html")
    (pages / "2_0.html").write_text("no page")
    (pages / "nope.html").write_text("<p>no task")
    given = ("score", pages, "--env", "IAD/Sketch2Code-v0", "--data-dir", folder)
    read = json.loads(iad(*given, "--json").stdout)
    (one,) = read["arms"].values()
    assert read["unknown"] == {str(pages): ["nope"]}
    assert (one["n_attempts"], one["n_missing"], one["verdicts"]) == (3, 5, {"done": 2, "unfinished": 1})
    assert one["success"]["value"] == one["scores"]["layout"]["value"] == 2 / 8
