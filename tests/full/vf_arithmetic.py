"""A taskset of sums and a harness that asks in its own process, as the package verifiers loads them by name.

The name is that of a module at the top level: this folder belongs in `PYTHONPATH`.
"""

from collections.abc import Iterable
from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

__all__ = ["ArithmeticTaskset", "OnePost"]


class ArithmeticConfig(vf.TasksetConfig):
    fails_at: int = -1
    """Number of the task whose reward fails."""


class SumData(vf.TaskData):
    answer: str = ""
    is_failing: bool = False


class SumTask(vf.Task[SumData]):
    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        if self.data.is_failing:
            raise RuntimeError("the grader went away")
        return float(trace.last_reply == self.data.answer)

    @vf.reward(weight=0.1)
    async def short(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply) < 3)

    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply))


class ArithmeticTaskset(vf.Taskset[SumTask, ArithmeticConfig]):
    def load(self) -> Iterable[SumTask]:
        for n in range(6):
            asked = {"prompt": f"What is {n}+1?", "answer": str(n + 1), "is_failing": n == self.config.fails_at}
            yield SumTask(SumData(id=f"sum-{n}", **asked), self.config.task)


class OnePostConfig(vf.HarnessConfig):
    id: str = "vf-arithmetic"


class OnePost(vf.Harness[OnePostConfig]):
    """Asks over HTTP, so that nothing is installed and no process is started."""

    APPENDS_SYSTEM_PROMPT = SUPPORTS_RESUME = True
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, urls: Any, data: Any) -> Any:
        system, prompt = self.resolve_prompt(data)
        turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else map(message_to_wire, prompt)
        messages = [*([{"role": "system", "content": system}] if system else []), *turns]
        headers, body = {"Authorization": f"Bearer {secret}"}, {"model": ctx.model, "messages": messages}
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(f"{endpoint}/chat/completions", headers=headers, json=body)
        return vf.ProgramResult(exit_code=0 if answer.is_success else 1, stdout="", stderr=answer.text)
