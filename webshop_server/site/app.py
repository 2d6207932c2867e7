"""The shop as a web site, with the original's routes and the same engine as the text environment.

A page's URL holds its whole state, except for the instruction and the visited products, which the session keeps. The
target of every link comes from the engine. In the pages, strings of the text observation are marked by `data-seen`
(with a number if their order differs), and clickables by `data-click`. A site knows no goals.
"""

import random
import re
import secrets
from collections.abc import Sequence
from itertools import accumulate

from flask import Flask, Response, jsonify, redirect, render_template, request

from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState
from webshop_server.pages import SUB_PAGES, sub_page_lines
from webshop_server.site.addresses import bought_at, item_at, path_of, results_at, sub_page_at
from webshop_server.site.errors import NoSuchPage
from webshop_server.site.pictures import picture
from webshop_server.site.sessions import SESSION_ID, Sessions
from webshop_server.site.strict_app import FILE_AGE_S, Answer, strict_app
from webshop_server.storefront import ShopTask


class Site:
    """Serves the pages of a shop to any number of sessions and threads.

    Args:
        shop: The engine with pages and transitions.
        tasks: Tasks whose instructions shoppers get. As in the original, a session named `..fixed_n..` gets the n-th
            task. Other sessions get a task drawn by weight, seeded by the session's id.
        sessions: Stores the state of each session.
    """

    def __init__(self, shop: Shop, tasks: Sequence[ShopTask], sessions: Sessions[ShopState] | None = None) -> None:
        if not tasks:
            raise ValueError("expected at least one task, got none; choose another split")
        self.shop = shop
        self.sessions: Sessions[ShopState] = Sessions() if sessions is None else sessions
        self._instructions = [task.instruction for task in tasks]
        self._weights = list(accumulate(task.weight for task in tasks))

    def instruction(self, session: str) -> str:
        """Return the instruction of a new session."""
        fixed = re.search(r"fixed_([0-9]{1,9})", session)
        if fixed is None:
            return random.Random(session).choices(self._instructions, cum_weights=self._weights)[0]
        number = int(fixed[1])
        if number >= len(self._instructions):
            raise NoSuchPage(
                f"expected fixed_0 to fixed_{len(self._instructions) - 1}, got fixed_{number}; pick another"
            )
        return self._instructions[number]

    def html(self, session: str, state: ShopState, complaint: str = "") -> str:
        """Return the HTML of a state. Needs the application's context."""
        page = self.shop.page(state)
        product = page.product
        return render_template(
            f"{page.kind}.html" if page.kind in ("index", "results", "item", "done") else "sub_page.html",
            page=page,
            links={name: path_of(session, target) for name, target in self.shop.links(state).items()},
            tabs=[name.capitalize() for name in page.clickables if product and name in SUB_PAGES],
            lines=sub_page_lines(page.kind, product) if product else (),
            # The chosen option that may name the colour of the picture.
            colour=next((value for name, value in page.selected if "colo" in name), ""),
            complaint=complaint,
            home=f"/{session}",
            n_products=len(self.shop.catalog),
            search_anywhere=self.shop.search_anywhere,
            max_query=MAX_QUERY_LENGTH,
        )

    def start(self) -> Answer:
        """Redirect to a new session."""
        return redirect(f"/{secrets.token_urlsafe(12)}", 302)  # type: ignore[return-value]

    def index(self, session: str) -> Answer:
        """Show the search page. An unknown session id starts a new session."""
        if not SESSION_ID.fullmatch(session):
            raise NoSuchPage("expected a session of letters, digits, - and _, at most 64; start a new one")
        visit = self.sessions.get(session)
        return self._arrive(session, visit, self.shop.start(visit.instruction if visit else self.instruction(session)))

    def search(self, session: str) -> Answer:
        """Redirect a query from the search box to its results."""
        visit = self._visit(session)
        query = request.form.get("search_query", "").lower()
        if visit.kind == "done":
            return redirect(path_of(session, visit), 303)  # type: ignore[return-value]
        after, complaint = visit, "expected words to search, got none"
        if query:
            after, complaint = self.shop.search_for(visit, query)
        if complaint:
            return self.html(session, visit, complaint), 400
        return redirect(path_of(session, after), 303)  # type: ignore[return-value]

    def results(self, session: str, keywords: str, page: str) -> Answer:
        """Show a page of results."""
        visit = self._visit(session)
        return self._arrive(session, visit, results_at(self.shop, visit, keywords, page))

    def item(self, session: str, asin: str, keywords: str, page: str, options: str) -> Answer:
        """Show a product."""
        visit = self._visit(session)
        state = item_at(self.shop, visit, asin, options, keywords=keywords, page=page)
        return self._arrive(session, visit, state)

    def sub_page(self, session: str, asin: str, keywords: str, page: str, sub: str, options: str) -> Answer:
        """Show a tab of a product."""
        visit = self._visit(session)
        item = item_at(self.shop, visit, asin, options, keywords=keywords, page=page)
        return self._arrive(session, visit, sub_page_at(self.shop, item, sub))

    def buy(self, session: str, asin: str, options: str) -> Answer:
        """Buy a product. This ends the session."""
        visit = self._visit(session)
        if visit.kind != "done":
            visit = self.shop.act(bought_at(self.shop, visit, asin, options), "click[buy now]").state
            self.sessions.put(session, visit)
        return redirect(path_of(session, visit), 303)  # type: ignore[return-value]

    def done(self, session: str, asin: str, options: str) -> Answer:
        """Show the thank-you page of a purchase."""
        visit = self._visit(session)
        if visit.kind != "done":
            raise NoSuchPage("expected a session that has bought something, got one that has not; use Buy Now")
        return self._arrive(session, visit, visit)

    def picture(self, asin: str) -> Answer:
        """Return the picture of a product."""
        product = self.shop.catalog.get(asin)
        if product is None:
            raise NoSuchPage("expected the id of a product, got another; search for one")
        answer = Response(picture(product, request.args.get("colour", "")[:60]), mimetype="image/svg+xml")
        answer.cache_control.max_age = FILE_AGE_S
        return answer

    def health(self) -> Answer:
        """Report that the server is up."""
        return jsonify(status="ok", products=len(self.shop.catalog), sessions=len(self.sessions))

    def _visit(self, session: str) -> ShopState:
        visit = self.sessions.get(session)
        if visit is None:
            raise NoSuchPage(
                "expected a session that was begun and used lately, got one that is not known; begin at the search"
            )
        return visit

    def _arrive(self, session: str, visit: ShopState | None, state: ShopState) -> Answer:
        """Show a state. After a purchase only the done page is shown."""
        if visit is not None and visit.kind == "done" and state != visit:
            return redirect(path_of(session, visit), 302)  # type: ignore[return-value]
        self.sessions.put(session, state)
        return self.html(session, state)


def create_app(site: Site) -> Flask:
    """Return the site as a WSGI application. Progress and rewards stay in the server."""
    app = strict_app(
        __name__,
        brand="WebShop",
        pages=(
            ("GET", "/", site.start),
            ("GET", "/health", site.health),
            ("GET", "/picture/<asin>.svg", site.picture),
            ("GET", "/<session>", site.index),
            ("POST", "/<session>", site.search),
            ("GET", "/search_results/<session>/<keywords>/<page>", site.results),
            ("GET", "/item_page/<session>/<asin>/<keywords>/<page>/<options>", site.item),
            ("GET", "/item_sub_page/<session>/<asin>/<keywords>/<page>/<sub>/<options>", site.sub_page),
            ("POST", "/done/<session>/<asin>/<options>", site.buy),
            ("GET", "/done/<session>/<asin>/<options>", site.done),
        ),
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]  # options come in the order of the page
    app.jinja_env.globals["dict"] = dict
    return app
