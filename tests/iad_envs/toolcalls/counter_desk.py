"""Two small simulated classes, as a data set could have them."""

from random import Random
from typing import Any

from iad_envs.toolcalls.executor import Toolbox


class TicketDesk:
    def __init__(self) -> None:
        self.tickets: dict[int, dict[str, Any]] = {}
        self.log: list[str] = []
        self._random = Random(0)

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        self.tickets = scenario.get("tickets", {})
        self.log = ["..."] * 100 if long_context else []
        self._random = Random(scenario.get("random_seed", 1))

    def open_ticket(self, title: str, tags: list[str] | None = None) -> dict[str, Any]:
        number = self._random.randint(1000, 9999)
        self.tickets[number] = {"title": title, "tags": tags if tags is not None else []}
        return {"ticket": number}

    def tag_ticket(self, ticket: int, tag: str) -> None:
        self.tickets[ticket]["tags"].append(tag)

    def read_ticket(self, ticket: int) -> dict[str, Any]:
        return self.tickets[ticket]

    def write_log(self, line: str) -> None:
        self.log.append(line)

    def list_tickets(self) -> list[int]:
        return list(self.tickets)

    def describe(self) -> str:
        return f"{len(self.tickets)} tickets"


class PlainSums:
    def total(self, numbers: list[float]) -> dict[str, float]:
        return {"result": sum(numbers)}

    def itself(self) -> dict[str, Any]:
        return {"object": self}

    def __repr__(self) -> str:
        return "<sums>"


def toolbox() -> Toolbox:
    return Toolbox({"TicketDesk": TicketDesk, "PlainSums": PlainSums})
