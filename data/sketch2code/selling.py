"""Pages that sell, show figures or ask for something: shop, product, pricing, dashboard, contact, sign-up, landing."""

from parts import (
    Site,
    bar,
    columns,
    div,
    foot,
    form,
    grid,
    head,
    lines,
    links,
    listed,
    picture,
    prose,
    table,
    tag,
    words,
)


def shop(site: Site, variant: int) -> tuple[str, str]:
    """All items, as cards; variant 1 with a filter beside them."""
    n_columns, height = ((3, 200), (2, 240), (4, 170))[variant]
    cards = [
        div(
            picture(name, f"width: 100%; height: {height}px"),
            words("h3", name, style="margin-top: 12px"),
            words("p", text, class_="small"),
            words("p", f"€ {price}"),
            words("button", "Add to basket"),
            class_="card",
        )
        for name, price, text in site.some("items", (6, 4, 8)[variant])
    ]
    goods = grid(n_columns, *cards)
    if variant == 1:
        side = form("Filter", ["Lowest price", "Highest price"], "Apply") + words("h3", "Topics")
        goods = columns(("0 0 240px", side + listed(site.world["topics"])), ("1", goods))
    title = words("h1", "All our goods") + words("p", site.said(2))
    return "Shop", head(site, stacked=variant == 2) + tag("main", title + goods) + foot(site, columns=variant == 0)


def product(site: Site, variant: int) -> tuple[str, str]:
    """One item at length."""
    name, price, text = site.rng.choice(site.world["items"])
    large = picture(name, f"width: 100%; height: {(420, 360, 480)[variant]}px")
    small = grid(4, *(picture(name, "width: 100%; height: 90px") for _ in range(4)))
    shown = large + div(small, style="margin-top: 16px") if variant != 1 else large
    facts = table(["", ""], [["Price", f"€ {price}"], ["Ready in", "3 days"], ["Made by", site.world["people"][0][0]]])
    buy = words("button", "Put into the basket")
    told = (
        words("h1", name) + words("p", text) + (facts if variant else prose(site, 2) + words("h2", f"€ {price}")) + buy
    )
    sides = [("1", shown), ("1", told)]
    body = columns(*(reversed(sides) if variant == 2 else sides))
    others = [
        div(picture(other, "width: 100%; height: 150px"), words("h3", other), words("p", f"€ {cost}"))
        for other, cost, _ in site.some("items", 4)
    ]
    below = "<hr>" + words("h2", "Often taken together") + grid(4, *others) if variant != 2 else prose(site, 4, 3)
    return name, head(site) + tag("main", body + below) + foot(site)


def pricing(site: Site, variant: int) -> tuple[str, str]:
    """Three plans, as cards or as a table."""
    plans = site.world["plans"]
    title = div(words("h1", "What it costs"), words("p", site.said(1)), style="text-align: center")
    if variant == 1:
        rows = [[name, f"€ {price}", ", ".join(points)] for name, price, points in plans]
        picture_ = picture("A day with us", "width: 100%; height: 220px")
        offer = picture_ + "<br>" + table(["Plan", "A year", "With it come"], rows) + words("button", "Choose a plan")
    else:
        offer = grid(
            3,
            *(
                div(
                    words("h2", name),
                    words("h1", f"€ {price}"),
                    tag("ul", lines(words("li", point) for point in points)),
                    words("button", f"Take {name}"),
                    class_="card",
                )
                for name, price, points in plans
            ),
        )
    asked = [div(words("h3", q), words("p", a)) for q, a in site.some("questions", (4, 2, 0)[variant])]
    below = "<hr>" + grid(2, *asked) if asked else "<br>" + form("Not sure?", ["Your mail"], "Ask us")
    return "Prices", head(site, stacked=variant == 2) + tag("main", title + offer + below) + foot(site)


def dashboard(site: Site, variant: int) -> tuple[str, str]:
    """Figures, a chart and a table, beside or below the navigation."""
    figures = grid(
        (4, 2, 1)[variant],
        *(
            div(words("p", name, class_="small"), words("h2", value), class_="card")
            for name, value in site.world["measures"]
        ),
    )
    chart = words("h2", "This week") + picture(
        "Chart of the week", f"width: 100%; height: {(260, 300, 220)[variant]}px"
    )
    rows = [[day, hour, what, where] for day, hour, what, where in site.some("events", (6, 4, 5)[variant])]
    plan = words("h2", "Next") + table(["Day", "At", "What", "Where"], rows)
    if variant == 1:
        side = columns(("3", chart), ("2", plan))
        return "Overview", bar(site) + tag("main", words("h1", "Overview") + figures + "<br>" + side)
    if variant == 0:
        inner = words("h1", "Good morning") + figures + "<br>" + chart + "<br>" + plan
    else:
        inner = words("h1", "Today in the shop") + columns(("2", plan + chart), ("1", figures + prose(site, 3)))
    side = tag("nav", words("strong", site.world["name"]) + links(site.world["links"]), class_="side")
    return "Overview", div(side, div(inner, style="flex: 1; padding: 28px 28px 0 0"), class_="columns")


def contact(site: Site, variant: int) -> tuple[str, str]:
    """A form to write to somebody, an address and a map."""
    write = form("Write to us", ["Your name", "Your mail", "What is it about?", "Message..."][variant % 2 :], "Send")
    place = words("h2", "Where we are") + words("p", "12 Mill Lane, behind the old depot.") + prose(site, 2)
    plan = picture("Map", f"width: 100%; height: {(260, 340, 300)[variant]}px")
    hours = table(["Day", "Open"], [["Tuesday to Friday", "9 to 18"], ["Saturday", "9 to 14"], ["Sunday", "10 to 12"]])
    title = words("h1", "Contact") + words("p", site.said(1))
    inner = (
        columns(("3", write), ("2", place + plan)),
        plan + "<br>" + columns(("1", place + hours), ("1", write)),
        columns(("2", place + hours), ("3", write)) + "<hr>" + plan,
    )[variant]
    return "Contact", head(site, stacked=variant == 1) + tag("main", title + inner) + foot(site)


def signup(site: Site, variant: int) -> tuple[str, str]:
    """A form to join, alone or beside a picture."""
    asked = (["Name", "Mail", "Password"], ["Mail", "Password"], ["First name", "Last name", "Mail", "Telephone"])[
        variant
    ]
    join = form(("Join us", "Log in", "Book a place")[variant], asked, ("Join", "Log in", "Book")[variant])
    more = words("p", "Forgotten your password?", class_="small") + links(["Ask for a new one"])
    if variant == 1:
        box = div(words("h1", site.world["name"]), join, more, style="width: 420px; margin: 60px auto")
        return "Log in", bar(site) + box + foot(site)
    shown = picture("With us", f"width: 100%; height: {(440, 520)[variant // 2]}px")
    reasons = tag("ul", lines(words("li", point) for point in site.world["plans"][1][2]))
    side = words("h1", site.world["tagline"]) + prose(site, 3) + reasons + join
    parts = [("1", shown), ("1", side)]
    return "Join", head(site) + tag("main", columns(*(parts if variant else reversed(parts)))) + foot(site)


def landing(site: Site, variant: int) -> tuple[str, str]:
    """A start page: a large picture, three reasons, a call."""
    hero = picture("Welcome", f"width: 100%; height: {(380, 460, 320)[variant]}px; border-radius: 0")
    call = div(words("h1", site.world["tagline"]), words("p", site.said(2)), words("button", "Come and see"))
    reasons = [
        div(
            picture(title, "width: 96px; height: 96px; border-radius: 48px") if variant == 1 else "",
            words("h2", title),
            words("p", text),
            class_="tint",
        )
        for title, text in site.some("posts", 3)
    ]
    if variant == 2:
        top = tag("main", columns(("1", call), ("1", hero)))
    else:
        top = hero + tag("main", div(call, style="text-align: center; max-width: 760px; margin: 0 auto"))
    quote = div(words("h2", "What people say"), words("p", site.said(2)), class_="wide", style="text-align: center")
    news = div(form("Letters, four times a year", ["Your mail"], "Subscribe"), class_="wide")
    body = top + div(grid(3, *reasons), class_="wide") + (quote if variant else news)
    return "Welcome", head(site) + body + foot(site, columns=variant != 1)
