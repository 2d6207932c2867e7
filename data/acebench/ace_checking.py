"""What is wrong with a task, in words. Its gold must pass both rules, all of it must be needed, and all must be known.

An argument is known if it stands in the user's words so far, in what is known of the user, or in the time of the
question, in the form that is said there; if it is the documented default; or if it is in an earlier result.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "bfcl"))  # where the checks of words are
sys.path.append(str(HERE.parents[1]))

from checking import is_said, leaves  # noqa: E402

from iad_envs.toolcalls.acebench.checkout import AGENT, SPECIAL, AceGold, AceTask, Loop  # noqa: E402
from iad_envs.toolcalls.acebench.executor import AceExecutor, AceState, CallResult, saved_state  # noqa: E402
from iad_envs.toolcalls.acebench.scoring.agent_tasks import milestone_calls, score_agent, score_agent_soundly  # noqa: E402
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, gold_calls  # noqa: E402
from iad_envs.toolcalls.acebench.scoring.special import PHRASES, check_special  # noqa: E402
from iad_envs.toolcalls.acebench.user import (  # noqa: E402
    DONT_KNOW,
    UserScript,
    by_class,
    first_message,
    next_message,
)
from iad_envs.toolcalls.calls import FunctionCall  # noqa: E402
from iad_envs.toolcalls.rules import RULES, Rules  # noqa: E402
from iad_envs.toolcalls.worlds import (  # noqa: E402
    ACE_WORLD_NAMES,
    class_of,
    world,
)

MAX_MESSAGES = 40
HARD_CALLS = 5
EASY_CALLS = 2
CLASSES = {name: class_of(name) for name in ACE_WORLD_NAMES}
SAVED = {name: tuple(world(name).public(world(name).load({}))) for name in ACE_WORLD_NAMES}
"""What is compared, by class."""
SETTINGS = ("switch_wifi_on", "log_in_phone", "sign_in_takeaway", "sign_in_trips")
"""What clears the way for other calls."""
RELATIVE = {"the day after tomorrow": 2, "tomorrow": 1, "today": 0}
_NEW_ID = re.compile(r"[A-Z]{2}-\d+")
_TODAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEFT_OUT = r"\b(?:no|not|without|skip|never|nor|don't|doesn't)\b[^.?!]{0,40}\b"


class AgentRun(NamedTuple):
    """What calls lead to, sent one after the other."""

    state: AceState
    messages: tuple[str, ...]
    results: tuple[CallResult, ...]

    def passes(self, gold: AceGold, rules: Rules) -> bool:
        """Whether the state at the end is right."""
        final = saved_state(self.state, SAVED) if self.state.has_run else []
        if rules == "official":
            return score_agent(gold, final, self.messages).end_to_end
        return score_agent_soundly(gold, final, self.results).end_to_end


def executor_of(task: AceTask, rules: Rules) -> AceExecutor:
    """Return the executor of an agent task."""
    loop: Loop = "multi_turn" if task.multi_turn else "multi_step"
    offered = [one["name"] for one in task.functions]
    return AceExecutor(CLASSES, task.involved_classes, rules, loop=loop, offered=offered, base="Phone")


def run_of(task: AceTask, messages: Iterable[str], rules: Rules) -> AgentRun:
    """Return what messages of an agent lead to."""
    executor = executor_of(task, rules)
    run = AgentRun(executor.start(task.initial_config), (), ())
    for message in messages:
        after = executor.execute(run.state, message)
        run = AgentRun(after.state, (*run.messages, message), (*run.results, *after.results))
    return run


def faults(task: AceTask, gold: AceGold) -> list[str]:
    """Return what is wrong with a task."""
    if task.category in AGENT:
        if not gold.milestones or not gold.milestones[0]:
            return ["nothing is wanted"]
        own = [*_agent_faults(task, gold), *_told_too_early(task, gold)]
        return [*own, *(_talk_faults(task, gold) if task.multi_turn else _unknown(task, gold))]
    if task.category in SPECIAL:
        return list(_special_faults(task, gold))
    return list(_normal_faults(task, gold))


def _agent_faults(task: AceTask, gold: AceGold) -> Iterator[str]:
    (stones,) = gold.milestones
    for rules in RULES:
        run = run_of(task, stones, rules)
        for result in run.results:
            if result.has_failed:
                yield f"{rules}: {result.call} is refused: {result.shown}"
        if not run.passes(gold, rules):
            yield f"{rules}: gold is not accepted"
        if run_of(task, (), rules).passes(gold, rules):
            yield f"{rules}: to do nothing is accepted"
        for place, stone in enumerate(stones):
            rest = [*stones[:place], *stones[place + 1 :]]
            if run_of(task, rest, rules).passes(gold, rules) and _is_known_without(task, gold, place):
                yield f"{rules}: accepted without {stone}"


def _told_too_early(task: AceTask, gold: AceGold) -> Iterator[str]:
    """Complain about ids in the user's words that only a call makes."""
    at_start = frozenset(leaves(task.initial_config))
    for result in run_of(task, gold.milestones[0], "sound").results:
        for value in leaves(result.shown):
            if _NEW_ID.fullmatch(str(value)) and value not in at_start and is_said(value, words_of(task)):
                yield f"{value} is said, and is not there yet"


def _is_known_without(task: AceTask, gold: AceGold, place: int) -> bool:
    """Whether the calls after one are known without its result: then nobody needs it."""
    words = words_of(task)
    (stones,) = gold.milestones
    shown = [one.shown for one in run_of(task, stones, "sound").results]
    return all(
        how(argument, name, schemas_of(task)[call.name][name], words, [*shown[:place], *shown[place + 1 : later]])
        for later in range(place + 1, len(stones))
        for call in milestone_calls(stones[later])
        for name, argument in call.arguments.items()
    )


def ways(task: AceTask, gold: AceGold, words: str) -> Iterator[tuple[FunctionCall, tuple[str, ...]]]:
    """Yield each gold call of an agent task, and how each of its arguments is known."""
    (stones,) = gold.milestones
    shown = [one.shown for one in run_of(task, stones, "sound").results]
    for place, stone in enumerate(stones):
        (call,) = milestone_calls(stone)
        schemas = schemas_of(task)[call.name]
        yield (
            call,
            tuple(how(value, name, schemas[name], words, shown[:place]) for name, value in call.arguments.items()),
        )


def _unknown(task: AceTask, gold: AceGold) -> Iterator[str]:
    yield from (f"{call!s} can't be known" for call, known in ways(task, gold, words_of(task)) if "" in known)


def _talk_faults(task: AceTask, gold: AceGold) -> Iterator[str]:
    """Complain about a task with a user that gold can't be found out from, or that does not end."""
    try:
        n_messages = talked(task, gold)
    except LookupError as error:
        yield str(error)
        return
    if n_messages >= MAX_MESSAGES:
        yield f"it takes {n_messages} messages"


def talked(task: AceTask, gold: AceGold) -> int:
    """Return how many messages it takes until the user ends the conversation. What is not known is asked for.

    Raises:
        LookupError: A value can't be known, or the user goes on too early, too late, or not at all.
    """
    script = UserScript.from_record(task.script)
    executor = executor_of(task, "sound")
    state = executor.start(task.initial_config)
    said = first_message(script)
    words, n_messages, goal = said.text, 1, said.goal
    shown: list[Any] = []
    schemas = schemas_of(task)
    (stones,) = gold.milestones
    pending = list(stones)
    while not said.is_last:
        if pending:
            (call,) = milestone_calls(pending[0])
            lacking = [
                (name, value)
                for name, value in call.arguments.items()
                if not how(value, name, schemas[call.name][name], words, shown)
            ]
            if not lacking:
                after = executor.execute(state, pending.pop(0))
                state, shown = after.state, [*shown, *(one.shown for one in after.results)]
                n_messages += 2  # the call and its result
                continue
        else:
            lacking = []
        facts = [fact for fact in script.facts if any(is_said(value, fact.says, name) for name, value in lacking)]
        question = f"What is the {facts[0].name}?" if facts else "That is done. What is next?"
        said = next_message(script, goal, question, by_class(final_or_start(state)))
        n_messages += 2
        if said.goal == goal and not facts:
            raise LookupError(f"the user waits for goal {goal}, and {pending[:1]} is next")
        if said.text == DONT_KNOW or n_messages > MAX_MESSAGES:
            raise LookupError(f"{pending[:1]} can't be known after {words!r}")
        words, goal = f"{words} {said.text}", said.goal
    if pending:
        raise LookupError(f"the user ends before {pending[0]}")
    return n_messages


def final_or_start(state: AceState) -> list[dict[str, dict[str, Any]]]:
    """Return the state that the user sees."""
    return saved_state(state, SAVED)


def words_of(task: AceTask) -> str:
    """Return all that is said, or known of the user, in the order of the record."""
    if task.script:
        script = UserScript.from_record(task.script)
        return " ".join([*(goal.says for goal in script.goals), *(fact.says for fact in script.facts)])
    return f"{task.question} {task.profile} {relative_days(task.question, task.time)}"


def relative_days(question: str, time: str) -> str:
    """Return the dates that words such as `tomorrow` mean at a time."""
    found = _TODAY.search(time)
    if not found:
        return ""
    days = []
    for said, after in RELATIVE.items():
        if said in question.lower():
            question = question.lower().replace(said, "")
            days.append((date.fromisoformat(found[0]) + timedelta(days=after)).isoformat())
    return " ".join(days)


def schemas_of(task: AceTask) -> dict[str, Any]:
    """Return the parameters of each offered function."""
    return {one["name"]: one["parameters"]["properties"] for one in task.functions}


def how(value: Any, name: str, schema: Mapping[str, Any], words: str, results: Sequence[Any]) -> str:
    """Return how a value is known: `said`, `default`, `returned`, or ""."""
    if stands_in(value, name, words):
        return "said"
    if "default" in schema and schema["default"] == value:
        return "default"
    return "returned" if any(value in leaves(one) for one in results) else ""


def stands_in(value: Any, name: str, words: str) -> bool:
    """Whether a value stands in words. A part of a list or a dictionary may stand anywhere."""
    if isinstance(value, Mapping):
        return all(stands_in(part, key, words) for key, part in value.items())
    if isinstance(value, list):
        return all(stands_in(part, name, words) for part in value)
    if value is False:
        long = [part for part in name.lower().split("_") if len(part) > 3]
        return any(re.search(_LEFT_OUT + re.escape(part), words.lower()) for part in long)
    return is_said(value, words, name)


def agent_difficulty(task: AceTask, gold: AceGold) -> str:
    """Return how hard an agent task is.

    `hard`: an argument comes from a result, something stands in the way, or there are 5 calls or more. `easy`: none of
    this, at most 2 calls, and all is said with the wishes. `medium`: the rest.
    """
    words = words_of(task)
    known = list(ways(task, gold, words))
    if len(known) >= HARD_CALLS or any("returned" in one or call.name in SETTINGS for call, one in known):
        return "hard"
    if task.script:
        wishes = " ".join(goal["says"] for goal in task.script["goals"])
        if any("" in one for _, one in ways(task, gold, wishes)):
            return "hard"
    return "easy" if len(known) <= EASY_CALLS else "medium"


def _normal_faults(task: AceTask, gold: AceGold) -> Iterator[str]:
    answer = gold_answer(task, gold)
    calls = gold_calls(gold.answer, schemas_of(task))
    for rules in RULES:
        if not check_normal(task, gold, answer, rules):
            yield f"{rules}: gold is not accepted: {answer}"
        for place in range(len(calls)):
            rest = ", ".join(str(call) for call in [*calls[:place], *calls[place + 1 :]])
            if check_normal(task, gold, f"[{rest}]", rules):
                yield f"{rules}: accepted without {calls[place]}"
        if check_normal(task, gold, "", rules):
            yield f"{rules}: to do nothing is accepted"
    names = [one["name"] for one in task.functions]
    if any(one != other and one in other for one in names for other in names):
        yield "the name of a function is a part of another's"
    schemas, words = schemas_of(task), words_of(task)
    for call in calls:
        for name, value in call.arguments.items():
            if not how(value, name, schemas[call.name][name], words, ()):
                yield f"{name} of {call.name} can't be known: {value!r}"
            wrong = ill_typed(value, schemas[call.name][name])
            if wrong:
                yield f"{name} of {call.name} {wrong}"


def ill_typed(value: Any, schema: Mapping[str, Any]) -> str:
    """Return what is wrong with a value by its schema, or ""."""
    kinds: Mapping[str, Any] = {
        "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict
    }  # fmt: skip
    if not isinstance(value, kinds[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return f"must be of type {schema['type']}, got {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {schema['enum']}, got {value!r}"
    if isinstance(value, list):
        return next((wrong for one in value if (wrong := ill_typed(one, schema["items"]))), "")
    if isinstance(value, dict):
        if set(schema.get("required", ())) - set(value) or set(value) - set(schema["properties"]):
            return f"has other parts than {sorted(schema['properties'])}"
        return next((wrong for key, one in value.items() if (wrong := ill_typed(one, schema["properties"][key]))), "")
    return ""


def special_answer(task: AceTask, gold: AceGold) -> str:
    """Return the sentence that gold stands for."""
    if task.category == "special_incomplete":
        ((name, lacking),) = gold.answer.items()
        return f"Missing necessary parameters ({', '.join(lacking)}) for the api ({name})"
    if task.category == "special_error_param":
        values = ", ".join(value for one in gold.answer.values() for value in one)
        return f"There is incorrect value ({values}) for the parameters ({', '.join(gold.answer)}) in the conversation."
    return str(gold.answer)


def _special_faults(task: AceTask, gold: AceGold) -> Iterator[str]:
    for rules in RULES:
        if not check_special(task, gold, special_answer(task, gold), rules):
            yield f"{rules}: gold is not accepted"
        if check_special(task, gold, "", rules):
            yield f"{rules}: to say nothing is accepted"
        if task.category != "special_irrelevant" and check_special(task, gold, f"{PHRASES[task.category]}.", rules):
            yield f"{rules}: accepted without a name"
    if task.category == "special_incomplete":
        documents = {one["name"]: one["parameters"] for one in task.functions}
        for name, lacking in gold.answer.items():
            if name not in documents or not lacking or not set(lacking) <= set(documents[name]["required"]):
                yield f"{name} does not need {lacking}"
    if task.category == "special_error_param":
        for name, values in gold.answer.items():
            if not any(name in one for one in schemas_of(task).values()):
                yield f"there is no parameter {name}"
            yield from (f"{value} is not said" for value in values if value not in task.question)


def as_json(value: Any) -> Any:
    """Return a value as it is read back from JSON."""
    return json.loads(json.dumps(value))


@cache
def documents_of(names: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    """Return the documents of worlds' functions, each once."""
    every = {document["name"]: document for name in names for document in world(name).documents}
    return tuple(every.values())
