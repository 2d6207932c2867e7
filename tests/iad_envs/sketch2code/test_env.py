"""`IAD/Sketch2Code-v0` from outside: answers, settings, users, data, and what is shown."""

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
from iad_envs.sketch2code.simulated_user import COMPLETE, PointingUser, UserTurn
from iad_envs.sketch2code.visual import VISUAL_PARTS
from iad_policy import IADPolicyWrapper
from tests.browser import Browsers
from tests.contract.environments import solution_of
from tests.iad_envs.browser.fake_chromium import HARMFUL, make_chromium
from tests.iad_envs.sketch2code.sketch_pages import GIF, TITLES, make_folder

HALF = "<!DOCTYPE html><html><body><h1>Tea</h1><p>Some words about it.</p></body></html>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, browsers: Browsers) -> Iterator[Path]:
    with browsers.leased(assets={"rick.jpg": GIF}):  # all environments of the module share it
        yield make_folder(tmp_path_factory.mktemp("data") / "sketch2code")


@pytest.fixture
def make(folder: Path) -> Iterator[Any]:
    made: list[Sketch2CodeEnv] = []

    def make_one(**options: Any) -> Sketch2CodeEnv:
        env = gym.make("IAD/Sketch2Code-v0", **{"data_dir": folder, **options}).unwrapped
        assert isinstance(env, Sketch2CodeEnv)
        made.append(env)
        return env

    yield make_one
    for env in made:
        env.close()


def gold(env: Sketch2CodeEnv) -> str:
    html: str = solution_of(env)[0]
    return html


def test_the_sketch_is_an_image_of_a_fixed_shape_and_differs_by_task(make: Any) -> None:
    env = make()
    sketches = [env.reset(options={"task_id": task})[0]["sketch"] for task in ("1_0", "1_1", "2_0")]
    assert {(sketch.shape, str(sketch.dtype)) for sketch in sketches} == {((1024, 768, 3), "uint8")}
    assert not np.array_equal(sketches[0], sketches[1])
    assert not np.array_equal(sketches[0], sketches[2])
    assert np.array_equal(sketches[0], env.reset(options={"task_id": "1_0"})[0]["sketch"])


@pytest.mark.parametrize("answer", ["{}", "Here:\n```html\n{}\n```\nDone.", "```\n{}\n```", "```html\n{}"])
def test_the_reference_scores_1_in_any_wrapping(answer: str, make: Any) -> None:
    env = make()
    env.reset(options={"task_id": "1_0"})
    _, reward, terminated, _, info = env.step(answer.format(gold(env)))
    assert (reward, terminated, info["success"], info["progress"]) == (1.0, True, True, 1.0)


def test_as_published_the_fences_language_stays_in_the_page_and_costs(make: Any) -> None:
    env = make(as_published=True)
    env.reset(options={"task_id": "1_0"})
    _, reward, _, _, _ = env.step(f"```html\n{gold(env)}\n```")
    assert 0.0 < reward < 0.9


def test_the_title_is_told_and_the_texts_only_where_asked(make: Any) -> None:
    plain, info = make().reset(options={"task_id": "2_0"})
    augmented, _ = make(texts=True).reset(options={"task_id": "2_0"})
    assert TITLES[1] in info["instruction"]
    assert "Some words about it." not in plain["text"]
    assert "Some words about it." in augmented["text"]


def test_a_page_that_cannot_be_rendered_scores_0_with_the_reason(make: Any) -> None:
    env = make()
    env.reset(options={"task_id": "1_0"})
    _, reward, terminated, _, info = env.step("<p>" + "x" * 5_000_000)
    assert (reward, terminated) == (0.0, True)
    assert "expected HTML of at most" in info["page"]["failure"]


def test_a_simulation_renders_but_does_not_score(make: Any) -> None:
    env = make()
    env.reset(options={"task_id": "1_0"})
    outcome = env.simulate(env.snapshot(), HALF)
    assert outcome.info["page"]["boxes"]["text_block"]
    assert "success" not in outcome.info
    assert env.simulate(env.snapshot(), HALF.replace("Tea", "Tee")).key == outcome.key or outcome.key


def test_progress_is_the_best_layout_so_far(make: Any) -> None:
    env = make(setting="feedback", user=lambda turn: "Go on.", max_steps=3)
    env.reset(options={"task_id": "1_0"})
    progress = [env.step(html)[4]["progress"] for html in (HALF, gold(env), HALF)]
    assert 0 < progress[0] < 1
    assert progress[1:] == [1.0, 1.0]


def test_a_user_comments_in_steps_but_not_in_simulations(make: Any) -> None:
    turns: list[UserTurn] = []

    def user(turn: UserTurn) -> str:
        turns.append(turn)
        return "Wider, please."

    env = make(setting="feedback", user=user)
    env.reset(options={"task_id": "1_0"})
    ahead = env.simulate(env.snapshot(), HALF)
    assert not turns
    observation, reward, terminated, truncated, info = env.step(HALF)
    assert "Wider, please." in observation["text"]
    assert "Wider, please." not in ahead.observation["text"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert turns[0].reference is None
    assert turns[0].reference_html == ""
    assert info["facts"]["user_saw_reference"] is False
    assert HALF in observation["text"]


def test_a_user_who_sees_the_reference_is_named_and_can_end_it(make: Any) -> None:
    env = make(setting="feedback", user=PointingUser())
    env.reset(options={"task_id": "1_0"})
    observation, _, terminated, _, info = env.step(HALF)
    assert info["facts"]["user_saw_reference"] is True
    assert "are not where they should be" in observation["text"]
    assert not terminated
    observation, reward, terminated, _, info = env.step(gold(env))
    assert COMPLETE in observation["text"]
    assert (reward, terminated, info["stop_reason"]) == (1.0, True, "done")


def test_questions_are_answered_and_count_as_turns(make: Any) -> None:
    env = make(setting="question", user=lambda turn: f"You asked {turn.question!r}.", max_steps=2)
    _, info = env.reset(options={"task_id": "1_0"})
    assert "ask[...]" in info["available_actions"]
    observation, _, _, _, info = env.step("ask[How many images?]")
    assert "You asked 'How many images?'." in observation["text"]
    _, reward, terminated, truncated, info = env.step(gold(env))
    assert (reward, terminated, truncated, info["stop_reason"]) == (1.0, False, True, "max_steps")


def test_a_question_is_refused_where_nobody_answers(make: Any) -> None:
    env = make()
    env.reset(options={"task_id": "1_0"})
    _, _, _, _, info = env.step("ask[How many images?]")
    assert info["invalid_action"]
    assert "expected HTML" in info["facts"]["complaint"]


def test_a_setting_without_its_user_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="expected a user"):
        make(setting="feedback")
    with pytest.raises(UnknownTask, match="direct, feedback, question"):
        make(setting="guess")


def test_success_is_where_the_caller_puts_it(make: Any) -> None:
    results = []
    for success_at in (0.05, 0.999):
        env = make(success_at=success_at)
        env.reset(options={"task_id": "1_0"})
        results.append(env.step(HALF)[4]["success"])
        assert env.unwrapped.success_rule == f"layout >= {success_at}"
    assert results == [True, False]


def test_sketch_page_and_reference_are_shown_side_by_side(make: Any) -> None:
    env = make(render_mode="rgb_array")
    env.reset(options={"task_id": "1_0"})
    before = env.render()
    env.step(gold(env))
    after = env.render()
    assert before.shape == after.shape == (720, 3 * 540 + 16, 3)
    assert before.dtype == np.uint8
    assert np.array_equal(after[:, 548:1088], after[:, 1096:])
    assert not np.array_equal(before, after)


def test_the_visual_metrics_are_scored_where_asked(make: Any) -> None:
    env = make(visual=True)
    env.reset(options={"task_id": "1_0"})
    *_, info = env.step(gold(env))
    assert {"block_match", "text", "position", "colour"} <= set(info["reward_parts"])
    assert info["reward_parts"]["text"] == 1.0


def test_given_sketches_are_used_in_either_layout_of_the_folder(make: Any, folder: Path, tmp_path: Path) -> None:
    picture = np.full((300, 400, 3), 255, dtype=np.uint8)
    picture[100:110] = 0
    for pages, sketches in ((tmp_path / "flat",) * 2, (tmp_path / "two/webpages", tmp_path / "two/sketches")):
        for place in (pages, sketches):
            place.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "1.html", pages)
        (sketches / "1_2.png").write_bytes(encoded(picture))
        env = make(data_dir=tmp_path / ("flat" if pages == sketches else "two"))
        assert list(env.task_ids) == ["1_2"]
        observation, info = env.reset()
        assert info["facts"]["sketch"] == "given"
        assert info["facts"]["sketch_size"] == [576, 768]
        assert observation["sketch"][200].max() < 10


def test_a_sketch_that_is_no_picture_is_named(make: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "1.html", tmp_path)
    (tmp_path / "1_0.png").write_bytes(b"not a picture")
    with pytest.raises(DataNotFound, match=r"expected .*1_0\.png to be a picture"):
        make(data_dir=tmp_path).reset()
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataNotFound, match="expected pages"):
        make(data_dir=tmp_path / "empty")


def test_without_a_browser_making_the_environment_says_what_to_install(make: Any) -> None:
    with pytest.raises(BrowserNotFound, match="apt-get install chromium"):
        make(chromium="/nowhere/chromium")


def test_environments_share_a_browser_that_ends_with_the_last_also_where_that_is_dropped(folder: Path) -> None:
    first, second = (Sketch2CodeEnv(data_dir=folder, n_tabs=1) for _ in range(2))
    assert first.renderer is second.renderer
    first.reset(seed=0)
    browser = first.renderer.browser
    first.close()
    assert browser.alive
    del second
    assert not browser.alive


@pytest.mark.parametrize("verifier", ["proxy", "oracle", "reference", "reference:image_iou"])
def test_a_verifier_picks_the_better_page(verifier: str, make: Any) -> None:
    env = make()
    observation, info = env.reset(options={"task_id": "1_0"})
    pages = iter([HALF, gold(env), "no page", "<p>" + "x" * 5_000_000])
    policy = IADPolicyWrapper(lambda observation, info: next(pages), env, strategy="bon", n=4, verifier=verifier)
    assert policy.act(observation, info) == gold(env)
    scores = [candidate.score for candidate in policy.decisions[-1].candidates]
    assert scores[1] > scores[0] > scores[3]


def test_a_run_keeps_a_thumbnail_of_each_candidate_by_content(make: Any, tmp_path: Path) -> None:
    env = make()
    pages = iter([HALF, HALF.replace("Tea", "Coffee"), HALF])
    with IADPolicyWrapper(
        lambda observation, info: next(pages), env, strategy="bon", n=3, verifier="oracle", log=tmp_path
    ) as policy:
        policy.act(*env.reset(seed=0))
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    named = [line["thumbnail"] for line in lines if line["kind"] == "outcome"]
    assert len(named) == 2
    assert {str(path.relative_to(tmp_path)) for path in (tmp_path / "thumbnails").iterdir()} == set(named)
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in named)


@pytest.mark.parametrize(("visual", "score"), [(False, 1.0), (True, 0.0)])
@pytest.mark.parametrize("how", ["refuses", "ends"])
def test_a_page_that_cannot_be_photographed_is_alike_for_all_strategies(
    how: Any, visual: bool, score: float, make: Any, tmp_path: Path
) -> None:
    env = make(chromium=make_chromium(tmp_path, how), visual=visual)
    seen = []
    for strategy in ("single", "bon", "iad"):
        observation, info = env.reset(options={"task_id": "1_0"})
        ahead = env.simulate(env.snapshot(), HARMFUL)
        with IADPolicyWrapper(
            lambda observation, info: HARMFUL, env, strategy=strategy, verifier="proxy", log=tmp_path / strategy
        ) as policy:
            _, reward, _, _, info = env.step(policy.act(observation, info))
        seen.append((reward, info["progress"], info["success"], info["page"]["failure"]))
        assert ahead.info["page"] == info["page"]
        assert {info["reward_parts"][part] for part in ("layout", *(VISUAL_PARTS if visual else ()))} == {score}
        lines = [json.loads(line) for line in (tmp_path / strategy / "answers.jsonl").read_text("utf-8").splitlines()]
        assert all("thumbnail" in line for line in lines if line["kind"] == "outcome")
        assert any(line["kind"] == "outcome" for line in lines) == (strategy != "single")
    assert len(set(seen)) == 1
    reward, progress, success, failure = seen[0]
    assert (reward, progress, success) == (score, score, bool(score))
    assert bool(failure) == visual


def test_a_thumbnail_says_why_there_is_no_picture(make: Any, tmp_path: Path) -> None:
    chromium = Path(make_chromium(tmp_path, "refuses"))
    env = make(chromium=str(chromium), render_mode="rgb_array")
    env.reset(options={"task_id": "1_0"})
    assert env.thumbnail(env.snapshot()) is None
    env.step(HARMFUL)
    why = env.renderer.run(HARMFUL, lambda tab, page: tab.screenshot((1, 1)))[0].failure
    assert "Unable to capture screenshot" in why
    assert env.thumbnail(env.snapshot()) == encoded(written(f"no picture: {why}", THUMBNAIL))
    assert env.screenshot(HARMFUL) is None
    assert env.render().min() == 0
    env.renderer.close()
    chromium.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert (env.thumbnail(env.snapshot()) or b"").startswith(b"\x89PNG")
