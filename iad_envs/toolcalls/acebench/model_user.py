"""A user that a language model plays: it is told the task's instruction and answers the agent's messages."""

from collections.abc import Sequence
from typing import Any

from iad_envs.toolcalls.acebench.user import STOP


def model_answer(model: str, instruction: str, said: Sequence[tuple[str, str]]) -> str:
    """Return the user's next line.

    Args:
        model: The model as litellm names it, such as `openai/gpt-4o`.
        instruction: What the user wants and knows.
        said: Messages so far, each with who said it: `user` or `agent`.
    """
    import litellm

    roles = {"user": "assistant", "agent": "user"}  # the model speaks for the user
    rules = f"""You are a user who talks to an assistant that acts by calling functions. What you want and know:

{instruction}

Say one line at a time. Tell only what you are asked for. Make up nothing that is not said above. When everything that \
you want is done, say only: {STOP}"""
    messages: list[dict[str, Any]] = [{"role": "system", "content": rules}]
    messages += [{"role": roles[who], "content": text} for who, text in said]
    reply = litellm.completion(model=model, messages=messages, temperature=0.0, max_tokens=120)
    lines = str(reply.choices[0].message.content or "").strip().splitlines()
    return lines[0] if lines else STOP
