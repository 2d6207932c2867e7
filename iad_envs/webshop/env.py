"""`IAD/WebShop-v0`: an online shop as text."""

import math
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.errors import require_known
from iad_envs.requirements import Requirement
from iad_envs.requirements.java import JAVA
from iad_envs.spaces import UnicodeText
from iad_envs.webshop.solution import solution_of
from webshop_server.catalog import Catalog
from webshop_server.engine import Shop, ShopState, parse_action
from webshop_server.goals import Goals, load_goals
from webshop_server.pages import RENDERERS
from webshop_server.progress import Progress
from webshop_server.reward import PurchaseScorer
from webshop_server.search import SearchEngine
from webshop_server.storage.loading import PLACES, open_shop
from webshop_server.storefront import PROGRESS_MODES, ProgressMode, ShopTask, ShopView, Storefront
from webshop_server.tagger import LightTagger, SpacyTagger, Tagger

TAGGERS: Mapping[str, Callable[[], Tagger]] = {"light": LightTagger, "spacy": SpacyTagger}
NO_PARTS: Mapping[str, float] = dict.fromkeys(
    (
        *("r_type", "r_att", "r_option", "r_price", "w_att", "w_option", "w_price"),
        *("query_match", "category_match", "title_score"),
    ),
    0.0,
)
NO_HOSTED_SHOP = (
    "processes share a large catalogue with catalog='disk', and other machines use: iad serve --openenv IAD/WebShop-v0"
)


class LoadedData(NamedTuple):
    """Data shared by all environments with the same data folder. Read-only after loading."""

    catalog: Catalog
    goals: Goals
    engine: SearchEngine
    scorer: PurchaseScorer


@lru_cache(maxsize=8)
def load_store(folder: Path, goals: str | None, search: str, tagger: str, *, catalog: str = "auto") -> LoadedData:
    """Load a data folder once per process."""
    products, engine = open_shop(folder, search, catalog=catalog)
    return LoadedData(products, load_goals(folder, products, goals), engine, PurchaseScorer(TAGGERS[tagger]()))


class WebShopEnv(IADEnv[str, ShopState]):
    """The agent reads an instruction, searches a shop, and buys a product with the right options.

    ## Description
    The online shop of WebShop (Yao et al., 2022): a search page, result pages, product pages with options and tabs.
    Pages, actions and reward are those of the original with its quirks. docs/webshop.md lists all differences.

    ## Action Space
    Text. `search[keywords]` or `click[button]`, where a button is a clickable of the page: a product id, an option's
    value, `next >`, `< prev`, `back to search`, `description`, `features`, `reviews`, `buy now`. The argument is
    lower-cased. Any other text changes nothing and counts as a step, and the observation says why it is invalid.

    ## Observation Space
    Text. The page as `text` (strings joined by " [SEP] "), `text_rich` (lines with marked buttons) or `url`.

    ## Rewards
    0 until `click[buy now]`, then 0-1: the match of product, attributes, options and price with the instruction.
    Success is a reward of exactly 1.

    ## Starting State
    The search page, with an instruction.

    ## Episode End
    Terminated by `click[buy now]`. Truncated after `max_steps` actions.

    ## Information
    docs/webshop.md lists all keys. `page` is the page as data. Gold keys, from `step` and `reset` only: `progress` (as
    defined by AgentBoard), `success`, `reward_parts`.

    ## Arguments
        data_dir: Folder with files in the official format. Default: `$IAD_DATA/webshop`, else the bundled data.
        split: Name of the split: `test`, `dev` or `train`. None means all goals.
        goals: `synthetic` or `human` builds goals from official files. None reads `goals.jsonl` if it exists, else
            builds synthetic goals.
        observation_mode: Kind of observation: `text`, `text_rich` or `url`.
        max_steps: Actions per episode.
        page_size: Products per results page (AgentBoard: 3).
        progress: Definition of progress: `maximum`, `agentboard` (with AgentBoard's running-best bug) or `off` (NaN).
        published: Whether to behave like the original: no message for invalid actions, and a done page with the score.
        search: Search engine: `bm25`, or with extras `lucene`, `dense` or `hybrid` (docs/search-engines.md).
        catalog: Storage of products: `memory`, `disk` (see `iad index build`) or `auto`, which depends on their number.
        tagger: Noun tagger: `light`, or `spacy` as in the original (requires the extra).
        search_anywhere: Whether searches are valid on every page, as in the original. If False, only on the first page,
            as in AgentBoard.
        max_pages: Maximum number of results pages (AgentBoard: 6). None means no limit.
        show_attributes: Whether there is a tab with the product's attributes. The original turns this aid off.
        special_queries: Whether `<r> <a> <c> <q>` queries work, an unintended shortcut of the original.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.webshop.policy:DOMAIN"

    OPTIONS: ClassVar[tuple[Requirement, ...]] = (JAVA,)
    GONE: ClassVar[Mapping[str, str]] = dict.fromkeys(("server", "token"), NO_HOSTED_SHOP)

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        goals: str | None = None,
        observation_mode: Literal["text", "text_rich", "url"] = "text",
        max_steps: int = 15,
        page_size: int = 10,
        progress: ProgressMode = "maximum",
        published: bool = False,
        search: str = "bm25",
        catalog: Literal["auto", "memory", "disk"] = "auto",
        tagger: str = "light",
        search_anywhere: bool = True,
        max_pages: int | None = None,
        show_attributes: bool = False,
        special_queries: bool = False,
        render_mode: str | None = None,
    ) -> None:
        require_known("observation_mode", observation_mode, RENDERERS)
        require_known("progress", progress, PROGRESS_MODES)
        require_known("tagger", tagger, TAGGERS)
        require_known("catalog", catalog, PLACES)
        self._folder = data_folder("webshop", data_dir).resolve()
        store = load_store(self._folder, goals, search, tagger, catalog=catalog)
        shop = Shop(
            store.catalog,
            store.engine,
            page_size=page_size,
            search_anywhere=search_anywhere,
            max_pages=max_pages,
            show_attributes=show_attributes,
            special_queries=special_queries,
        )
        self.storefront = Storefront(shop, store.goals, store.scorer)
        tasks = {task.task_id: task for task in self.storefront.tasks}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)
        self._mode = observation_mode
        self._progress = progress
        self._published = published
        self.action_space = UnicodeText(1 << 20)
        self.observation_space = UnicodeText(1 << 20)

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, ("items_*.json", "goals.jsonl"))

    def action_key(self, action: str) -> str:
        """Return `name[argument]` as parsed by the shop: the argument in lower case, and without trailing text."""
        name, argument = parse_action(action)
        return f"{name}[{argument}]" if name else action.strip()

    def terminal(self, action: str) -> bool:
        """Whether the action is a purchase."""
        return parse_action(action) == ("click", "buy now")

    def subject_of(self, task_id: str) -> str:
        """Return a hash of the product that a task asks for."""
        return sha256(self.storefront.reference(task_id)["asin"].encode()).hexdigest()[:16]

    def _start(self, task: ShopTask) -> ShopState:
        return ShopState(task.instruction)

    def _transition(self, state: ShopState, action: str, rng: np.random.Generator | None) -> Transition:
        after, complaint = self.storefront.act(state, action)
        return Transition(after, complaint, after.kind == "done")

    def _view(self, state: ShopState, complaint: str) -> View:
        view = self.storefront.view(state, self._mode)
        observation = self._with_complaint(view.observation, complaint)
        return View(observation, actions_of(view), {"complaint": complaint}, view.page)

    def _with_complaint(self, observation: str, complaint: str) -> str:
        if not complaint or self._published:
            return observation
        if self._mode == "text":
            return f"{observation} [SEP] Invalid action: {complaint}"
        return f"{observation}\nInvalid action: {complaint}\n" if self._mode == "text_rich" else observation

    def _score(self, task: ShopTask, now: Snapshot, memory: Progress | None) -> Score:
        found = self.storefront.assess(task.task_id, now.state, memory or Progress(), self._progress)
        parts = {**NO_PARTS, **found.parts}
        success = found.reward == 1.0 and bool(found.parts)
        progress = math.nan if self._progress == "off" else found.progress.best
        return Score(found.reward, progress, success, parts, found.progress)

    def _why(self, now: Snapshot, score: Score) -> str:
        """Return what of the purchase does not fit."""
        if now.state.kind != "done":
            return "nothing was bought"
        names = {"r_type": "kind", "r_att": "attributes", "r_option": "options", "r_price": "price"}
        return ", ".join(f"{name} {score.parts[part]:.2f}" for part, name in names.items() if score.parts[part] < 1.0)

    def _reveal(self, view: View, score: Score) -> str:
        if not self._published or self._mode == "url":
            return str(view.observation)
        return self.storefront.view(self._required().state, self._mode, score.reward).observation

    def _reference(self, task: ShopTask) -> dict[str, Any]:
        return self.storefront.reference(task.task_id)

    def _solution(self, task: ShopTask) -> list[str] | None:
        return solution_of(self.storefront, task, self._mode)

    def _effect(self, before: ShopState, after: ShopState) -> Effect:
        return Effect("", before != after)

    def _result_key(self, state: ShopState, view: View) -> Hashable:
        if state.kind == "results":
            return ("results", tuple(product["asin"] for product in view.page["products"]))
        return (state.kind, state.asin, tuple(sorted(state.options)))


def actions_of(view: ShopView) -> tuple[str, ...]:
    """Return the available actions of a page."""
    clicks = tuple(f"click[{name}]" for name in view.clickables if name != "search")
    return (*clicks, "search[...]") if view.takes_search else clicks
