"""Gold of `IAD/Booking-v0`: a right reservation scores 1, a wrong one 0 in what is wrong. Progress only grows."""

from collections import Counter
from random import Random

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.scoring import PARTS, gold_actions, reservation_parts
from iad_envs.booking.state import BookingState
from iad_envs.booking.tasks import BookingTask
from tests.contract.environments import solution_of
from tests.iad_envs.booking.visits import (
    ENGINE,
    TASKS,
    TEST,
    WORLD,
    booking,
    drawn,
    play,
    start_of,
    started,
    tasks_with,
    walked,
)

SOME = TEST[::8]
EXTRA = {"needless_asks", "lost_original"}


def parts_of(task: BookingTask, state: BookingState) -> dict[str, float]:
    """The parts of a reservation, or nothing if there is none."""
    return reservation_parts(task, state) if state.place.kind == "confirmation" else {}


def wrong_in(task: BookingTask, actions: list[str]) -> list[str]:
    """The parts that are 0 after actions that make a reservation."""
    parts = parts_of(task, walked(start_of(task), actions))
    assert parts, f"{task.task_id}: no reservation after {actions}"
    return [name for name in PARTS if not parts[name]]


def test_each_gold_action_left_out_fails_or_leads_to_the_same_reservation_for_a_reason() -> None:
    """Harmless: the question, as gold knows; the name, if a search for all finds it; the time, if it is near 7 PM."""
    harmless: Counter[str] = Counter()
    n_left_out = 0
    for task in SOME:
        gold = gold_actions(ENGINE, task)
        state = start_of(task)
        right = walked(state, gold).reservations
        for place, action in enumerate(gold):
            after = walked(state, gold[place + 1 :])
            n_left_out += 1
            if all(parts_of(task, after).values()) and parts_of(task, after):
                harmless[action.partition("]")[0].partition("HELP")[0].strip()] += 1
                assert after.reservations == right, (task.task_id, action)
            state = walked(state, [action])
    assert set(harmless) <= {"ASK USER", "TYPE [q", "TYPE [time"}
    assert harmless["ASK USER"] == sum("hidden_seating" in task.kinds for task in SOME) > 0
    assert harmless["TYPE [q"] + harmless["TYPE [time"] < n_left_out / 20


def test_another_seating_fails_in_that_part_alone_and_only_where_the_user_cares() -> None:
    n_careless = 0
    for task in TEST[::4]:
        for seating in WORLD.tables(task.restaurant, task.day, task.party)[task.gold_slots[0]]:
            wrong = wrong_in(task, booking(task._replace(seating=seating)))
            assert wrong == (["seating"] if task.seating not in ("", seating) else []), (task.task_id, seating)
            n_careless += not task.seating
    assert n_careless > 20


def test_a_phone_is_compared_by_its_digits_and_an_email_without_case() -> None:
    for task in TEST[:2]:
        area, rest = task.user.phone.split("-")
        email = task.user.email
        for field, value, is_right in (
            ("phone", area + rest, True), ("phone", f"({area}) {rest}", True), ("phone", f"{area} {rest}", True),
            ("phone", f"+1 212 {area}-{rest}", False), ("phone", f"{area}{rest}0", False),
            ("email", f"  {email.upper()}", True), ("email", f"x{email}", False),
        ):  # fmt: skip
            actions = [one for one in booking(task) if not one.startswith((f"TYPE [{field}]", f"CLEAR [{field}]"))]
            actions[-1:] = [f"CLEAR [{field}]", f"TYPE [{field}] [{value}]", "CLICK [complete]"]
            assert wrong_in(task, actions) == ([] if is_right else ["user_info"]), (task.task_id, value)


def test_a_move_that_leaves_the_old_reservation_is_not_completed() -> None:
    """Within two hours it is refused; a reservation by hand that is far enough away shows the part alone."""
    for task in tasks_with("move")[::4]:
        kept = walked(start_of(task), booking(task, keeps_old=True))
        assert (kept.findings, len(kept.booked), parts_of(task, kept)) == (("double_booking",), 1, {}), task.task_id
        assert task.own is not None
        far = task._replace(own=task.own._replace(table=task.own.table._replace(day=task.day + 1)))
        assert wrong_in(far, booking(far, keeps_old=True)) == ["completed"], task.task_id
        assert wrong_in(far, booking(far)) == []


def test_a_wrong_reservation_ends_the_episode_with_reward_0_and_no_more_progress() -> None:
    for task in TEST[::100]:
        env = started(task)
        *before, last = booking(task._replace(user=task.user._replace(email="zoe@example.org")))
        best = play(env, before)[4]["progress"]
        observation, reward, terminated, _, info = play(env, [last])
        assert (reward, terminated, info["success"]) == (0.0, True, False)
        assert (info["reward_parts"]["user_info"], sum(info["reward_parts"].values())) == (0.0, 5.0)
        assert 0.5 < best == info["progress"] < 1  # to complete counts only if it is right
        assert "zoe@example.org" in observation


def test_the_published_success_has_the_papers_four_parts_and_any_seating_of_the_right_restaurant() -> None:
    task = tasks_with("given_seating")[0]
    minute = task.gold_slots[0]
    other = next(one for one in WORLD.tables(task.restaurant, task.day, task.party)[minute] if one != task.seating)
    for published, expected in ((True, 1.0), (False, 0.0)):
        _, reward, _, _, info = play(started(task, published=published), booking(task._replace(seating=other)))
        assert (reward, info["success"], info["progress"] == 1) == (expected, bool(expected), published)
        left_out = {"restaurant", "seating"} if published else set()
        assert set(info["reward_parts"]) == {*PARTS, *EXTRA} - left_out
    slug = next(
        slug
        for slug in WORLD.restaurants
        if slug != task.restaurant and task.seating in WORLD.tables(slug, task.day, task.party).get(minute, ())
    )
    _, reward, _, _, info = play(started(task, published=True), booking(task._replace(restaurant=slug)))
    assert (reward, info["reward_parts"]["date_time"], info["reward_parts"]["party"]) == (0.0, 0.0, 1.0)


def test_the_right_times_are_the_nearest_of_all_free_ones() -> None:
    n_ties = 0
    for task in TASKS.values():
        free = WORLD.tables(task.restaurant, task.day, task.party)
        off = {minute: abs(minute - task.minute) for minute in free if abs(minute - task.minute) <= 120}
        nearest = tuple(sorted(minute for minute in off if off[minute] == min(off.values())))
        assert task.gold_slots == nearest, task.task_id
        assert ("nearest" in task.kinds) == (task.minute not in free), task.task_id
        if len(nearest) > 1:  # both are right
            n_ties += 1
            assert [wrong_in(task, booking(task, minute)) for minute in nearest] == [[], []], task.task_id
    assert n_ties >= 20


def test_progress_never_falls_and_is_1_only_with_success() -> None:
    rng = Random(7)
    env = BookingEnv()
    n_grown = 0
    for number in range(16):
        _, info = env.reset(seed=number)
        gold, best = solution_of(env), 0.0
        for step in range(30):
            # Half of the actions are gold's, so that there is progress that could fall.
            is_gold = step < len(gold) and number % 2 and rng.random() < 0.8
            _, _, terminated, _, info = env.step(gold[step] if is_gold else drawn(info, rng))
            assert best <= info["progress"] <= 1
            assert (info["progress"] == 1) == info["success"]
            n_grown += info["progress"] > best
            best = info["progress"]
            if terminated:
                break
    assert n_grown > 12


def test_needless_questions_are_counted_when_they_are_asked() -> None:
    where, mail = "ASK USER HELP [Where to sit?]", "ASK USER HELP [What is your email?]"
    hidden, plain = tasks_with("hidden_seating")[0], next(task for task in TEST if not task.kinds)
    for task, actions, expected in (
        (hidden, [where], 0), (hidden, [mail], 1), (hidden, [where, mail], 1), (hidden, [where, where], 1),
        (plain, [where], 1), (plain, [where, mail, mail], 3),
    ):  # fmt: skip
        env = started(task)
        ahead = env.simulate(env.snapshot(), actions[0])
        assert env.oracle(ahead.token)["reward_parts"]["needless_asks"] == 0  # a simulated one is not asked yet
        assert play(env, actions)[4]["reward_parts"]["needless_asks"] == expected, (task.kinds, actions)
