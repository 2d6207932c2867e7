"""Reads calls of tools: JSON objects, the tags of chat templates, and calls in the notation of Python.

The forms are those of OpenAI, Anthropic, Hermes and Qwen, Llama, Mistral, DeepSeek, Kimi, GLM, Gemma, Phi and Granite.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_policy.models.parsing.literals import read_arguments, read_literal

_OPENING = re.compile(
    r"""\s*+(?:<(?:[\w-]+:)?(?:tool_calls?|function_calls?|tools?|tool_use|tool_code|functions)>|<\|tool_calls?\|>
    |\[TOOL_CALLS\]|<\|python_(?:tag|start)\|>|<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>
    |<\|tool_calls_section_begin\|>|functools(?=\[))\s*+""",
    re.VERBOSE,
)
_NAMED = re.compile(
    r"""\s*+(?:<function=(?P<equals>[\w.-]+)>|<(?:function|invoke|tool)[ _]name=["'](?P<quoted>[\w.-]+)["']>
    |(?:<｜tool▁call▁begin｜>)?function<｜tool▁sep｜>(?P<deepseek>[\w.-]+)\s*(?:```json\s*)?
    |<\|tool_call_begin\|>(?P<kimi>[\w.:-]+)\s*<\|tool_call_argument_begin\|>|(?P<mistral>[\w.-]+)\[ARGS\])""",
    re.VERBOSE,
)
_PARAMETER = re.compile(
    r"""\s*+(?:<(?P<tag>parameter|param|arg)(?:=|[ ]name=)["']?(?P<name>[\w.-]+)["']?>(?P<value>.*?)</(?P=tag)>
    |<arg_key>(?P<key>[^<]*+)</arg_key>\s*+<arg_value>(?P<key_value>.*?)</arg_value>)""",
    re.VERBOSE | re.DOTALL,
)
_KEYED = re.compile(r"\s*+(?P<name>[\w.-]++)\s*+(?=<arg_key>)")
_FUNCTION = re.compile(r"\s*+(?:print\(\s*)?(?P<name>[^\W\d][\w.]*)\(")
_NAMES = (
    "name", "tool", "tool_name", "function_name", "recipient_name", "action", "action_name", "action_type", "type",
    "function",
)  # fmt: skip
_ARGUMENTS = (
    "arguments", "parameters", "args", "params", "action_input", "actioninput", "tool_input", "input", "argument",
    "kwargs", "action_args", "action_arguments", "action_parameters",
)  # fmt: skip
_WRAPPERS = (
    "tool_call", "function_call", "tool_calls", "function_calls", "calls", "actions", "steps", "function", "call",
    "action",
)  # fmt: skip
_TEXTS = (
    "command", "cmd", "code", "script", "sql", "sql_query", "query", "keywords", "keyword", "search_query",
    "search_term", "q", "text", "value", "element", "button", "target", "item", "label", "option", "html", "page",
    "content",
    "bash_command", "shell", "bash",
)  # fmt: skip
"""Names of the argument that counts where a call has several."""
_REASONING = re.compile(
    r"thought|think|reason|explan|rationale|analysis|comment|description|observation|reflection|evaluation|memory"
    r"|confidence|^(?:plan|status|goal|timeout|tool_call_id|call_id)$"
)
"""Matches names of texts beside the action."""
_THOUGHT = re.compile(r"thought|think|reason|explan|rationale|analysis")


class ToolCall(NamedTuple):
    """A call of a tool.

    Attributes:
        name: Name of the tool, or the action itself if nothing else is there; "" for none.
        argument: A text, a list, or None if there is no argument.
        thought: Reasoning in the same object.
        given: All arguments by name, where they have names.
    """

    name: str
    argument: Any
    thought: str = ""
    given: Mapping[str, Any] = MappingProxyType({})


def tool_call(text: str) -> ToolCall | None:
    """Return the first call that a text begins with, or None if it begins with no call in these forms."""
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    if named := _NAMED.match(text, start):
        name = next(filter(None, named.groups()))
        return _with_parameters(name.removeprefix("functions.").partition(":")[0], text, named.end())
    if opening and (keyed := _KEYED.match(text, start)):
        return _with_parameters(keyed["name"], text, keyed.end())
    literal = read_literal(text, start) if text[start:].lstrip()[:1] in ("{", "[") else None
    if literal is not None:
        return call_of(literal.value)
    return function_call(text[start:]) if opening else None


def function_call(text: str, names: Iterable[str] = ()) -> ToolCall | None:
    """Return the call in the notation of Python that a text begins with, or None.

    Args:
        text: The text.
        names: Names in lower case that the function may have, as one of the words of its own. Every name if there are
            none.
    """
    match = _FUNCTION.match(text)
    allowed = set(names)
    if match is None or (allowed and not allowed.intersection(re.findall(r"[a-z]+", match["name"].lower()))):
        return None
    arguments = read_arguments(text, match.end())
    if arguments is None:
        return None
    return ToolCall(match["name"].removesuffix(".call"), argument_of(arguments.value), given=arguments.value)


def call_of(value: Any) -> ToolCall | None:
    """Return the call that an object describes, or None. Of a list, the first one counts."""
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict) or not value:
        return None
    fields = {str(name).lower(): field for name, field in value.items()}
    thought = next((field for name, field in fields.items() if _THOUGHT.search(name) and isinstance(field, str)), "")
    for name in _WRAPPERS:
        if isinstance(fields.get(name), dict | list) and (inner := call_of(fields[name])):
            return inner._replace(thought=inner.thought or thought)
    name = next((name for name in _NAMES if isinstance(fields.get(name), str)), "")
    argument = next((fields[one] for one in _ARGUMENTS if one in fields), None)
    if isinstance(argument, str) and argument.lstrip()[:1] == "{" and (inside := read_literal(argument)):
        argument = inside.value
    others = {one: field for one, field in fields.items() if one != name and one not in _ARGUMENTS}
    given = argument if isinstance(argument, dict) else others
    if argument is None or argument == {}:
        argument = argument_of(others)
    else:
        argument = argument_of(argument) if isinstance(argument, dict) else argument
    keys = [one for one in others if not _REASONING.search(one)]
    if not name and len(keys) == 1:
        # An object such as {"search": "red shoes"} names the action in its key.
        inner = fields[keys[0]]
        return ToolCall(keys[0], argument, thought, inner if isinstance(inner, dict) else {})
    return ToolCall(fields[name], argument, thought, given) if name else None


def argument_of(arguments: Mapping[str, Any]) -> Any:
    """Return the argument among several values: the only one, or the one with the name that arguments often have."""
    given = {
        name: value
        for name, value in arguments.items()
        if not _REASONING.search(name.lower())
        and isinstance(value, str | list | int | float)
        and not isinstance(value, bool)
    }
    named = next((given[name] for name in _TEXTS if name in given), None)
    if named is None and len(given) == 1:
        named = next(iter(given.values()))
    return str(named) if isinstance(named, int | float) else named


def _with_parameters(name: str, text: str, start: int) -> ToolCall | None:
    parameters: dict[str, Any] = {}
    place = start
    while match := _PARAMETER.match(text, place):
        parameters[match["name"] or match["key"].strip()] = (match["value"] or match["key_value"] or "").strip("\n")
        place = match.end()
    if not parameters and (literal := read_literal(text, start)) and isinstance(literal.value, dict):
        parameters = literal.value
    if not parameters and text[start:].strip().startswith("{"):
        return None
    return ToolCall(name, argument_of(parameters), given=parameters)
