"""The booking site in words: what each kind of action has led to."""

from iad_envs.booking.policy.agent import QUESTION
from iad_envs.booking.policy.rendering import BookingRendering
from iad_policy.prompts.rendering import Rendering
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import State, Turn
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, gold_of, tasks_with

WORDS = BookingRendering()


def led_to(visit: Visit) -> str:
    """What the history will say that the last action led to."""
    turn = visit.state.history[-1]
    return WORDS.result(turn, turn.action, visit.state)


def test_each_kind_of_action_says_what_it_led_to() -> None:
    visit = Visit(tasks_with("hidden_seating")[0])
    record, where = visit.task.as_record(), visit.env.engine.world.restaurants[visit.task.restaurant]
    city = visit.env.engine.world.cities[where.city]
    visit.did(f"TYPE [q] [{where.name}]")
    assert led_to(visit) == f'[q] = "{where.name}"'
    visit.did("CLICK [go]")
    assert led_to(visit).startswith("results: ")
    assert where.name in led_to(visit)
    visit.did(f"CLICK [r-{where.slug}]")
    assert f"{where.name}, {city}; times: " in led_to(visit)
    visit.did(f"TYPE [date] [{record['day']}]")
    assert led_to(visit) == f'[date] = "{record["day"]}"'
    visit.did(f"TYPE [time] [{record['time']}]", f"TYPE [party] [{record['party']}]", "CLICK [find]")
    hour, minute = divmod(visit.task.minute, 60)
    assert f"{hour}:{minute:02d}" in led_to(visit).partition("times: ")[2]
    visit.did(next(action for action in gold_of(visit) if action.startswith("CLICK [slot-")))
    assert led_to(visit) == f"seating: {', '.join(visit.page['seatings'])}"
    visit.did(QUESTION)
    assert led_to(visit) == f'the user answered: "{visit.task.answers["seating"]}"'
    visit.did(f"CLICK [seat-{visit.task.seating}]")
    assert led_to(visit) == "Your details"
    visit.did(FINISHED)
    assert "notice: Fill in: first name" in led_to(visit)
    visit.did("TYPE [phone] [555]", "CLEAR [phone]")
    assert led_to(visit) == '[phone] = ""'
    visit.did("SCROLL [DOWN]")
    assert led_to(visit) == "nothing changed"
    visit.did("CLICK [nothing]")
    assert "expected the id of an element that is seen" in led_to(visit)


def test_a_cancellation_and_a_released_hold_are_told() -> None:
    visit = Visit(tasks_with("move")[0]).did_until("CLICK [cancel]")
    assert led_to(visit) == "My reservations"
    visit.did("CLICK [cancel]", "CLICK [cancel-yes]")
    assert "notice: Your reservation is cancelled." in led_to(visit)
    visit.did("GOTO [home]")
    assert led_to(visit) == "Book a table"


def test_the_choice_of_seating_is_told_to_be_the_user_s_until_the_user_has_said() -> None:
    visit = Visit(tasks_with("hidden_seating")[0]).did_until("ASK")
    assert "neither the instruction nor the user has named one" in WORDS.facts(visit.state)
    assert WORDS.facts(visit.did(QUESTION).state) == ""
    assert WORDS.facts(Visit(tasks_with("given_seating")[0]).did_until("CLICK [seat-").state) == ""


def test_the_page_shows_what_can_be_used_once() -> None:
    visit = Visit("test-000").did_until("CLICK [slot-")
    assert WORDS.actions(visit.state) == ""
    values = dict(WORDS.values(visit.state))
    del values["instruction"]  # the same without its label, for prompts of other authors
    text = "\n".join(values.values())
    assert all(text.count(f"\n[{one['id']}] ") == 1 for one in visit.page["elements"])
    assert text.count(visit.state.info["instruction"]) == 1


def test_a_predicted_page_is_shown_in_the_simulator_s_words() -> None:
    info = {"instruction": "a table", "available_actions": (), "page": Unpredicted(), "facts": Unpredicted()}
    predicted = State("Tablefind: Book a table", info, history=(Turn("Tablefind", "CLICK [go]", info),))
    assert WORDS.page(predicted) == "Tablefind: Book a table"
    assert WORDS.turns(predicted) == Rendering().turns(predicted)
    bare = State("a page", {"instruction": "a table", "available_actions": ("CLICK [x]",)})
    assert WORDS.values(bare) | {"task": ""} == Rendering().values(bare) | {"task": ""}
