"""`IAD/BIRD-v0`: questions to real databases, answered in SQL."""

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from iad_envs.bird.actions import OFFERS, Mode, parse_action
from iad_envs.bird.connection import OpenDatabase, SqlServer, open_database
from iad_envs.bird.data import Question, load_data
from iad_envs.bird.database import EXPLORING, Dialect, QueryLimits, require_worker
from iad_envs.bird.findings import findings
from iad_envs.bird.official import TIMEOUT_S
from iad_envs.bird.page import Answered, answer_page, first_page, plain_rows, result_name
from iad_envs.bird.schema import RENDERERS
from iad_envs.bird.scoring import ScoringRule, reward_of
from iad_envs.bird.sql import canonical
from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder
from iad_envs.errors import UnknownTask
from iad_envs.requirements import Requirement
from iad_envs.requirements.mysql import MYSQL
from iad_envs.requirements.postgres import POSTGRES
from iad_envs.spaces import UnicodeText

PARTS = ("ex", "soft_f1", "sound", "rejected")


class BirdState(NamedTuple):
    """The state of an episode: the question and the last executed query."""

    question: Question
    has_gold: bool
    last: Answered | None = None


class BirdEnv(IADEnv[str, BirdState]):
    """The agent reads a question and a schema, explores a database, and submits one SQL query.

    ## Description
    BIRD (Li et al., 2023) with exploration before the answer. Queries run in one worker process per environment. They
    are read-only and limited in time, rows and memory. If a worker must be killed, it is replaced.

    ## Action Space
    Text. `execute[SQL]` shows the rows of a query. `submit[SQL]` or a bare query commits it. If a query fails, is
    refused or times out, the observation says why. Any other text changes nothing and counts as a step. With
    `mode="answer"` there is only `submit[SQL]`.

    ## Observation Space
    Text. The result of the last query, then the schema, the question and its evidence. After a submit only the result.

    ## Rewards
    0 until a submit, then 0 or 1 by `scoring`. NaN if the question has no gold query. Success is a reward of 1.

    ## Starting State
    A question. No query has been executed.

    ## Episode End
    Terminated by a submit. Truncated after `max_steps` actions.

    ## Information
    docs/bird.md lists all keys. `page` has the question, the schema as data and the result of the last query, `facts`
    the findings about it. Gold keys: `progress` (Soft-F1 of the last query), `success` and `reward_parts`.

    ## Arguments
        data_dir: Folder in BIRD's layout. Default: `$IAD_DATA/bird`, else the bundled data.
        split: Name of the split: `dev`, `mini_dev`, `mini_dev_postgresql`, `mini_dev_mysql`, `train` or `validation`
            (ours, to choose an epoch or a round by; BIRD has none).
        schema: Format of the schema: `ddl`, `ddl+samples` or `m-schema`.
        scoring: `ex` is the official EX, with score 0 for anything but a single reading query. `official` runs the
            official procedure on a temporary copy even for such texts. `sound` is another rule, see docs/bird.md.
        mode: `interactive`, or `answer`: one decision per task, with `submit[SQL]` as the only action.
        max_steps: Actions per episode. Default: 10, or 1 with `mode="answer"`.
        time_limit_s: Time limit in seconds of an executed or previewed query.
        score_limit_s: Time limit in seconds for scoring a submitted query (official: 30).
        shown_rows: Maximum number of result rows in the observation.
        dialect: `sqlite`, `postgresql` or `mysql` (MariaDB too). With the last two, databases are on a server, and
            rejected queries score 0.
        dsn: Connection string of a PostgreSQL role, or address of a MySQL user, that may only SELECT. Requires
            `iad[postgres]` or `iad[mysql]`.
        guard_dsn: The same with a role or user that may end the sessions of `dsn`. Default: `dsn`.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.bird.policy:DOMAIN"

    OPTIONS: ClassVar[tuple[Requirement, ...]] = (POSTGRES, MYSQL)

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str = "dev",
        schema: str = "ddl+samples",
        scoring: ScoringRule = "ex",
        mode: Mode = "interactive",
        max_steps: int | None = None,
        time_limit_s: float = EXPLORING.seconds,
        score_limit_s: float = TIMEOUT_S,
        shown_rows: int = 20,
        dialect: Dialect = "sqlite",
        dsn: str | None = None,
        guard_dsn: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        for argument, given, known in (
            ("schema", schema, tuple(RENDERERS)),
            ("scoring", scoring, ("ex", "official", "sound")),
            ("mode", mode, tuple(OFFERS)),
            ("dialect", dialect, ("sqlite", "postgresql", "mysql")),
        ):
            if given not in known:
                raise UnknownTask(argument, given, known)
        if time_limit_s <= 0 or score_limit_s <= 0:
            raise ValueError(f"expected limits above 0 s, got {time_limit_s} and {score_limit_s}")
        if (dialect == "sqlite") == (dsn is not None):
            servers = "dialect='postgresql' and dialect='mysql'"
            raise ValueError(f"expected a dsn with {servers} and with no other, got {dialect!r} and {dsn!r:.20}")
        if dialect == "sqlite":
            require_worker()
        self._server = None if dsn is None else SqlServer(dialect, dsn, guard_dsn)
        self._data = load_data(data_folder("bird", data_dir).resolve(), split)
        self.mode = mode
        self._offer = OFFERS[mode]
        steps = self._offer.max_steps if max_steps is None else max_steps
        super().__init__(self._data.questions, max_steps=steps, split=split, render_mode=render_mode)
        self._render = RENDERERS[schema]
        self._shown_schema = self._page_schema = ""
        self._scoring = scoring
        self._limits = QueryLimits(seconds=time_limit_s)
        self._score_limit_s = score_limit_s
        self._shown_rows = shown_rows
        self._desk: OpenDatabase | None = None
        self.action_space, self.observation_space = UnicodeText(1 << 20), UnicodeText(1 << 20)

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return self._data.version

    @property
    def database_versions(self) -> dict[str, str]:
        """The version of each database: `official` file, `other` file, `missing`, or `server`."""
        if self._server is not None:
            return {question.db_id: "server" for question in self._data.questions.values()}
        return self._data.database_versions()

    def action_key(self, action: str) -> str:
        """Return `execute[SQL]` or `submit[SQL]` with the SQL in canonical form. Other texts are returned unchanged."""
        kind, sql = parse_action(action)
        return f"{kind}[{canonical(sql)}]" if kind else action.strip()

    def terminal(self, action: str) -> bool:
        """Whether the action submits."""
        return parse_action(action).kind == "submit"

    def subject_of(self, task_id: str) -> str:
        """Return the id of a task's database."""
        return str(self._data.questions[task_id].db_id)

    def close(self) -> None:
        """End the worker processes. Closing twice is harmless."""
        if self._desk is not None:
            self._desk.close()
            self._desk = None
        super().close()

    def _start(self, task: Question) -> BirdState:
        self._at(task.db_id)
        return BirdState(task, task.task_id in self._data.golds)

    def _at(self, db_id: str) -> OpenDatabase:
        """Open a database, and close the previous one."""
        if self._desk is None or self._desk.db_id != db_id:
            if self._desk is not None:
                self._desk.close()
                self._desk = None
            self._desk = open_database(self._data, db_id, self._limits, self._score_limit_s, server=self._server)
            # The observation declares each column of a joint key a key. Other words would change what is sampled.
            self._shown_schema, self._page_schema = (
                self._render(self._desk.schema, is_sql) for is_sql in (False, True)
            )
        return self._desk

    def _transition(self, state: BirdState, action: str, rng: np.random.Generator | None) -> Transition:
        kind, sql = parse_action(action)
        if not kind or kind not in self._offer.kinds:
            complaint = f"expected {self._offer.forms}, got {action[:200]!r}"
            return Transition(state, complaint, False)
        desk = self._at(state.question.db_id)
        result = desk.database.run(sql)
        found = findings(sql, result, state.question, desk.schema, desk.values)
        key = f"{kind}:{result_name(result)}"
        kept = result
        if len(result.rows) * len(result.columns) > 20_000:
            kept = result._replace(rows=result.rows[: self._shown_rows], is_cut=True)
        answered = Answered(kind, sql, kept, len(result.rows), key, found)
        return Transition(state._replace(last=answered), "", kind == "submit")

    def _view(self, state: BirdState, complaint: str) -> View:
        question, last = state.question, state.last
        desk = self._at(question.db_id)
        is_over = last is not None and last.kind == "submit"
        result = "" if last is None else answer_page(last, self._limits, self._shown_rows)
        # The result comes first, because a prompt may show only the head of an earlier observation.
        first = "" if is_over else first_page(question, self._shown_schema, self._offer.how_to, desk.dialect)
        observation = "\n\n".join(filter(None, [result, first]))
        if complaint:
            observation = f"{observation}\nInvalid action: {complaint}"
        facts = {
            "complaint": complaint,
            "kind": "question" if last is None else last.kind,
            "findings": () if last is None else tuple(finding._asdict() for finding in last.findings),
            "result": "" if last is None else last.key,
            "has_gold": state.has_gold,
        }
        page = {
            "kind": facts["kind"],
            "db_id": question.db_id,
            "question": question.question,
            "evidence": question.evidence,
            "schema": self._page_schema,
            "dialect": desk.dialect,
            "result": result,
            "sql": "" if last is None else last.sql,
            "columns": () if last is None else last.result.columns,
            "rows": () if last is None else plain_rows(last.result.rows[: self._shown_rows]),
            "n_rows": 0 if last is None else last.n_rows,
            "tables": desk.schema.public() if last is None else (),
        }
        return View(observation, () if is_over else self._offer.patterns, facts, page)

    def _public(self, now: Snapshot, view: View) -> dict[str, Any]:
        """Return the public info. An answer that the database can't read as SQL is no valid action."""
        info, last = super()._public(now, view), now.state.last
        if last is not None and last.kind == "submit" and any(one.code == "syntax" for one in last.findings):
            info["invalid_action"] = True
        return info

    def _score(self, task: Question, now: Snapshot, memory: tuple[Answered | None, Score] | None) -> Score:
        state: BirdState = now.state
        if not state.has_gold:
            parts = dict.fromkeys(PARTS, math.nan)
            return Score(math.nan if now.terminated else 0.0, math.nan, False, parts, None)
        before = None if memory is None else memory[0]
        if memory is not None and state.last is before:
            return memory[1]._replace(reward=0.0, memory=memory)
        if state.last is None:
            nothing = Score(0.0, 0.0, False, dict.fromkeys(PARTS, 0.0), None)
            return nothing._replace(memory=(None, nothing))
        last, desk, gold = state.last, self._at(task.db_id), self._data.golds[task.task_id]
        if last.kind == "submit":
            pair = desk.scorer.score(last.sql, gold, last.result)
        else:
            # Only a submitted answer justifies the official time limit and a copy of the database.
            was_cut = last.n_rows > len(last.result.rows)
            pair = desk.scorer.compared(last.sql, gold, desk.database.run(last.sql) if was_cut else last.result)
        is_rejected = pair.verdict == "rejected"
        parts = {"ex": pair.ex, "soft_f1": pair.soft_f1, "sound": pair.sound, "rejected": float(is_rejected)}
        counts = self._scoring == "official" or not is_rejected
        reward = reward_of(pair, self._scoring) if last.kind == "submit" else 0.0
        score = Score(reward, pair.soft_f1 if counts else 0.0, reward == 1.0, parts, None)
        return score._replace(memory=(last, score))

    def _why(self, now: Snapshot, score: Score) -> str:
        """Return what is wrong with the last query's result."""
        last, gold = now.state.last, self._data.golds.get(now.task.task_id)
        if last is None or gold is None:
            return "no query was made" if gold else "the question has no gold query"
        if last.result.status != "ok":
            return f"{last.result.status}: {last.result.message}"
        expected = self._at(now.task.db_id).scorer.gold(gold).result
        size = f"rows x columns: {last.n_rows} x {len(last.result.columns)}"
        wanted = f"{len(expected.rows)} x {len(expected.columns)}"
        return f"{size}, other values than gold's" if size.endswith(f" {wanted}") else f"{size}, gold's are {wanted}"

    def _reference(self, task: Question) -> dict[str, Any]:
        return {"sql": self._data.golds.get(task.task_id, "")}

    def _solution(self, task: Question) -> list[str] | None:
        gold = self._data.golds.get(task.task_id)  # the official test set has none
        return [f"submit[{gold}]"] if gold else None

    def _effect(self, before: BirdState, after: BirdState) -> Effect:
        """Tell why a query gave no rows. Queries only read, so none changes the world."""
        if after.last is None or after.last is before.last:
            return Effect("", False)
        return Effect("; ".join(one.message for one in after.last.findings if one.severity == "error"), False)

    def _result_key(self, state: BirdState, view: View) -> Hashable:
        return state.last.key if state.last is not None else "question"
