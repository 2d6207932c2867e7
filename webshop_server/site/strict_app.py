"""What any of our sites needs of Flask: strict headers, pages in a common frame, and errors as pages.

`frame/` has what the sites share. A site's `base.html` extends `frame.html` and fills its blocks, and every page of the
site extends `base.html`. `frame.css` is served at `/frame/frame.css`. A site has its own `templates/base.html`,
`static/icon.svg` and style sheets.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from flask import Blueprint, Flask, Response, render_template, request
from werkzeug.exceptions import HTTPException, NotFound

from webshop_server.site.errors import NoSuchPage
from webshop_server.site.server import MAX_BODY_BYTES
from webshop_server.site.sessions import SESSION_ID

FILE_AGE_S = 86_400
"""How long browsers keep pictures and style sheets."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Answer: TypeAlias = Response | tuple[str, int] | str


def strict_app(package: str, *, brand: str, pages: Iterable[tuple[str, str, Callable[..., Answer]]]) -> Flask:
    """Return an application without scripts, cookies and frames, whose errors are pages.

    The page of an error leads to the site's first page: to `/<session>` if the URL has a session, else to `/`.

    Args:
        package: The `__name__` of a module next to the site's folders `templates` and `static`.
        brand: Name of the site, on every page.
        pages: Method, path and function of every page. The functions have different names. A function that raises
            `NoSuchPage` is answered by the page of an error with status 404.
    """
    app = Flask(package)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = FILE_AGE_S
    # Lone surrogates can't be encoded in a page.
    app.jinja_env.filters["printable"] = lambda text: text.encode("utf-8", "replace").decode()
    app.jinja_env.globals["brand"] = brand
    # A site's own templates come first.
    frame = {"template_folder": "frame/templates", "static_folder": "frame/static", "static_url_path": "/frame"}
    app.register_blueprint(Blueprint("frame", __name__, **frame))  # type: ignore[arg-type]
    for method, path, view in pages:
        app.add_url_rule(path, view.__name__, view, methods=[method])

    @app.errorhandler(NoSuchPage)
    def no_such_page(error: NoSuchPage) -> tuple[str, int]:
        return _error_page("There is no such page", str(error), 404)

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> tuple[str, int]:
        if isinstance(error, NotFound):
            return _error_page("There is no such page", "Nothing is at this address.", 404)
        return _error_page(error.name, error.description or "", error.code or 500)

    @app.after_request
    def with_headers(answer: Response) -> Response:
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    return app


def _error_page(title: str, reason: str, status: int) -> tuple[str, int]:
    session = (request.view_args or {}).get("session", "")
    home = f"/{session}" if SESSION_ID.fullmatch(session) else "/"
    return render_template("error.html", title=title, reason=reason, home=home), status
