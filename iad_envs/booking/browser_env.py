"""`IAD/BookingBrowser-v0`: booking a table in a restaurant, in a real browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.state import BookingState
from iad_envs.browser.site_env import SiteEnv, require_site_browser

if TYPE_CHECKING:
    from iad_envs.booking.visit import BookingVisit


class BookingBrowserEnv(SiteEnv[BookingState], BookingEnv):
    """The tasks of `IAD/Booking-v0` on the booking site, in a Chromium that Selenium drives.

    ## Description
    Every step clicks or types in a real page. The new page is then compared with the engine's page. Tasks, actions,
    rewards and progress are those of `IAD/Booking-v0`. This process serves the site on a free port.

    ## Action Space
    Same as `IAD/Booking-v0`.

    ## Observation Space
    `text`: same as `IAD/Booking-v0`. `html`: source of the page. `screenshot`: image (height, width, 3; uint8) of the
    window. It does not show why an action is invalid; see `info["facts"]`.

    ## Rewards
    Same as `IAD/Booking-v0`.

    ## Starting State
    The search page, with an instruction. The site may be set to another city.

    ## Episode End
    Same as `IAD/Booking-v0`. A lost browser is replaced and continues at the same page.

    ## Information
    Same as `IAD/Booking-v0`.

    ## Arguments
        observation_mode: Kind of observation: `text`, `html` or `screenshot`.
        window_size: Width and height of the page in pixels.
        chromium: Path or name of the browser. Default: `$IAD_CHROMIUM`, else the usual names.
        chromedriver: Path or name of the driver. Default: `$IAD_CHROMEDRIVER`, else `chromedriver`.
        render_mode: `rgb_array` (picture of the window), `ansi` or None.
        data_dir, split, max_steps, published: Same as `IAD/Booking-v0`.

    ## Version History
    * v0: First version.
    """

    visit: "BookingVisit"

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        observation_mode: Literal["text", "html", "screenshot"] = "text",
        max_steps: int = 30,
        published: bool = False,
        window_size: tuple[int, int] = (1280, 1280),
        chromium: str | None = None,
        chromedriver: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        from iad_envs.booking.visit import BookingVisit

        require_site_browser(observation_mode, chromium, chromedriver)
        super().__init__(
            data_dir=data_dir, split=split, max_steps=max_steps, published=published, render_mode=render_mode
        )
        programs = {"chromium": chromium, "chromedriver": chromedriver}
        visit = BookingVisit(self.engine, always_loads=observation_mode == "screenshot", size=window_size, **programs)
        self._browse(visit, observation_mode)
