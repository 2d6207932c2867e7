"""Agents of other libraries under our strategies, as the page has them (`make bridges BRIDGES=agents`)."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from iad_policy import IADPolicyWrapper
from tests.full.played import SHOP
from tests.full.processes import examples, needing
from tests.iad_policy.models.openai_server import OpenAIServer, Reply, calling, completion, serving

pytestmark = needing("openai", "smolagents", "agents", "langgraph", how="make bridges BRIDGES=agents")
AGENTS = ("openai", "smolagents", "openai-agents", "langgraph")
PROMPT_TOKENS, COMPLETION_TOKENS = 11, 7
"""What the server says of every call."""


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """An endpoint that answers every request with an action, as a call where there is a tool."""
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.address)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        server.reply_to = answer
        yield server


def answer(request: dict[str, Any]) -> Reply:
    """A search for a few words of the task that the request tells."""
    text = str(request["messages"][-1]["content"])
    found = re.search(r"Task: (?:\w+ )*?(\w{4,})", text)
    action = f"search[{found[1] if found else 'tea'}]"
    if request.get("tools"):
        return Reply(calling((request["tools"][0]["function"]["name"], f'{{"action": "{action}"}}')))
    return Reply(completion(action))


@pytest.fixture(scope="module")
def agents(server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each block of the page defines as `agent`. The blocks run one after another."""
    folder = tmp_path_factory.mktemp("page")
    import agents as openai_agents

    openai_agents.set_default_openai_api("chat_completions")
    names: dict[str, Any] = {"print": lambda *texts: None, "__name__": "page"}
    found = []
    for number, body in enumerate(examples("agents.md")):
        path = folder / f"block_{number}.py"
        path.write_text(body, encoding="utf-8")  # smolagents reads the source of a tool
        exec(compile(body, str(path), "exec"), names)
        found.append(names["agent"])
    assert len(found) == len(AGENTS)
    return dict(zip(AGENTS, found, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_proposes_and_its_tokens_are_counted(name: str, threads: int, agents: Any, server: Any) -> None:
    env = gym.make(SHOP)
    server.requests.clear()
    with IADPolicyWrapper(agents[name], env, strategy="bon-sc", n=3, threads=threads) as policy:
        observation, info = env.reset(seed=0)
        action = policy.act(observation, info)
        usage = policy.usage
    assert action.startswith("search[")
    assert not env.step(action)[4]["invalid_action"]
    assert [info["instruction"] in str(request["messages"]) for request in server.requests] == [True] * 3
    assert (usage.proposals, usage.prompt_tokens) == (3, 3 * PROMPT_TOKENS)
    assert usage.completion_tokens == 3 * COMPLETION_TOKENS
    assert usage.n_unmetered == 0


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_told_of_its_earlier_proposals(name: str, agents: Any, server: Any) -> None:
    def decided() -> Any:
        env = gym.make(SHOP)
        with IADPolicyWrapper(agents[name], env, strategy="iad", n=2) as policy:
            policy.act(*env.reset(seed=0))
            return policy.decisions[-1]

    async def cell() -> Any:
        return decided()

    server.requests.clear()
    decision = decided()
    assert not any("feedback dropped" in note for note in decision.notes)
    first = decision.candidates[0].action
    assert [first in str(request["messages"]) for request in server.requests] == [False, True]
    if name == "openai-agents":  # a coroutine, which works inside a running loop, as in a notebook
        assert asyncio.run(cell()).candidates[0].action == first
