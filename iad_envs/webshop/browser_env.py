"""`IAD/WebShopBrowser-v0`: the online shop, in a real browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from iad_envs.browser.site_env import SiteEnv, require_site_browser
from iad_envs.webshop.env import WebShopEnv
from webshop_server.engine import ShopState
from webshop_server.storefront import ProgressMode

if TYPE_CHECKING:
    from iad_envs.webshop.visit import BrowserVisit


class WebShopBrowserEnv(SiteEnv[ShopState], WebShopEnv):
    """The tasks of `IAD/WebShop-v0` on the shop's site, in a Chromium that Selenium drives.

    ## Description
    Every step clicks or types in a real page. The new page is then compared with the engine's page. Tasks, actions,
    rewards and progress are those of `IAD/WebShop-v0`. This process serves the site on a free port.

    ## Action Space
    Same as `IAD/WebShop-v0`.

    ## Observation Space
    `text`: same as `IAD/WebShop-v0`. `html`: source of the page. `screenshot`: image (height, width, 3; uint8) of the
    window. It does not show why an action is invalid; see `info["facts"]`.

    ## Rewards
    Same as `IAD/WebShop-v0`.

    ## Starting State
    The search page, with an instruction.

    ## Episode End
    Same as `IAD/WebShop-v0`. A lost browser is replaced and continues at the same page.

    ## Information
    Same as `IAD/WebShop-v0`.

    ## Arguments
        observation_mode: Kind of observation: `text`, `html` or `screenshot`.
        window_size: Width and height of the page in pixels.
        chromium: Path or name of the browser. Default: `$IAD_CHROMIUM`, else the usual names.
        chromedriver: Path or name of the driver. Default: `$IAD_CHROMEDRIVER`, else `chromedriver`.
        render_mode: `rgb_array` (picture of the window), `ansi` or None.
        data_dir, split, goals, max_steps, page_size, progress: Same as `IAD/WebShop-v0`.
        search, tagger, catalog, search_anywhere, max_pages, show_attributes: Same as `IAD/WebShop-v0`.

    ## Version History
    * v0: First version.
    """

    visit: "BrowserVisit"

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        goals: str | None = None,
        observation_mode: Literal["text", "html", "screenshot"] = "text",
        max_steps: int = 15,
        page_size: int = 10,
        progress: ProgressMode = "maximum",
        search: str = "bm25",
        tagger: str = "light",
        catalog: Literal["auto", "memory", "disk"] = "auto",
        search_anywhere: bool = True,
        max_pages: int | None = None,
        show_attributes: bool = False,
        window_size: tuple[int, int] = (1280, 1280),
        chromium: str | None = None,
        chromedriver: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        from iad_envs.webshop.visit import BrowserVisit

        require_site_browser(observation_mode, chromium, chromedriver)
        super().__init__(
            data_dir=data_dir,
            split=split,
            goals=goals,
            max_steps=max_steps,
            page_size=page_size,
            progress=progress,
            search=search,
            tagger=tagger,
            catalog=catalog,
            search_anywhere=search_anywhere,
            max_pages=max_pages,
            show_attributes=show_attributes,
            render_mode=render_mode,
        )
        front, programs = self.storefront, {"chromium": chromium, "chromedriver": chromedriver}
        self._browse(BrowserVisit(front.shop, front.tasks, size=window_size, **programs), observation_mode)
