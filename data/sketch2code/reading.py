"""Pages to read: blog, article, front page, gallery, profile, guide, timetable, questions, team, search."""

from parts import Site, columns, div, foot, form, grid, head, lines, listed, picture, prose, table, tag, words


def blog(site: Site, variant: int) -> tuple[str, str]:
    """The latest posts, with a column beside them."""
    posts = []
    for title, text in site.some("posts", (4, 3, 5)[variant]):
        said = words("h2", title) + words(
            "p", f"{site.rng.randint(1, 28)} March, by {site.rng.choice(site.world['people'])[0]}", class_="small"
        )
        said += words("p", f"{text} {site.said(2)}") + words("a", "Read on", href="#")
        if variant == 0:
            posts.append(picture(title, "width: 100%; height: 240px") + "<br>" + said)
        elif variant == 1:
            posts.append(columns(("0 0 260px", picture(title, "width: 260px; height: 190px")), ("1", said)))
        else:
            posts.append(said)
    side = words("h3", "Topics") + listed(site.world["topics"]) + words("h3", "About") + words("p", site.said(3))
    side += form("", ["Search the journal"], "Search")
    column = ("0 0 280px", side)
    content = ("1", "\n<hr>\n".join(posts))
    inner = columns(column, content) if variant == 2 else columns(content, column)
    return "Journal", head(site, stacked=variant != 1) + tag("main", inner) + foot(site)


def article(site: Site, variant: int) -> tuple[str, str]:
    """One long text with pictures."""
    title, teaser = site.rng.choice(site.world["posts"])
    name, role, _ = site.rng.choice(site.world["people"])
    top = words("h1", title) + words("p", teaser) + words("p", f"By {name}, {role}. Seven minutes.", class_="small")
    shown = picture(title, f"width: 100%; height: {(360, 420, 280)[variant]}px") + "<br>"
    first = prose(site, 3, 2) + words("h2", "The first attempt") + prose(site, 3, 2)
    second = words("h2", "What we learnt") + prose(site, 2)
    if variant == 0:
        inner = div(
            top, shown, first, tag("blockquote", prose(site, 1)), second, style="max-width: 720px; margin: 0 auto"
        )
    elif variant == 1:
        side = words("h3", "Read next") + lines(
            picture(t, "width: 100%; height: 120px") + words("p", t, style="margin-top: 8px")
            for t, _ in site.some("posts", 3)
        )
        inner = shown + columns(("1", top + first + second), ("0 0 260px", side))
    else:
        inner = top + columns(("1", first), ("1", shown + second)) + "<hr>" + form("", ["Your comment..."], "Comment")
    return title, head(site, stacked=variant == 2) + tag("main", inner) + foot(site, columns=variant == 1)


def front(site: Site, variant: int) -> tuple[str, str]:
    """A front page: one large story, several small ones."""
    stories = site.some("posts", 7)
    (title, teaser), rest = stories[0], stories[1:]
    lead = picture(title, f"width: 100%; height: {(340, 300, 400)[variant]}px") + "<br>" + words("h1", title)
    lead += words("p", f"{teaser} {site.said(3)}")
    small = [words("h3", t) + words("p", x, class_="small") for t, x in rest]
    shown = [picture(t, "width: 100%; height: 130px") + "<br>" + words("h3", t) + words("p", x) for t, x in rest]
    if variant == 0:
        inner = columns(("2", lead), ("1", lines(small[:4]))) + "<hr>" + grid(3, *(div(s) for s in shown[:3]))
    elif variant == 1:
        inner = columns(("1", lines(small[:3])), ("2", lead), ("1", lines(small[3:])))
    else:
        inner = lead + "<hr>" + grid(2, *(div(s) for s in shown[:4]))
    return "Today", head(site, stacked=True) + tag("main", inner) + foot(site)


def gallery(site: Site, variant: int) -> tuple[str, str]:
    """Pictures in a grid, with or without captions."""
    n, n_columns, height = ((9, 3, 230), (8, 4, 200), (6, 2, 300))[variant]
    shown = [
        div(
            picture(caption, f"width: 100%; height: {height}px"),
            words("p", caption, class_="small", style="text-align: center; margin-top: 8px") if variant != 1 else "",
        )
        for caption in site.some("captions", n)
    ]
    title = words("h1", "Pictures") + words("p", site.said(2))
    return "Pictures", head(site, stacked=variant == 1) + tag("main", title + grid(n_columns, *shown)) + foot(site)


def profile(site: Site, variant: int) -> tuple[str, str]:
    """Somebody: a portrait, a life, the latest posts."""
    name, role, line = site.rng.choice(site.world["people"])
    portrait = picture(name, f"width: {(220, 300, 180)[variant]}px; height: {(220, 340, 180)[variant]}px")
    who = words("h1", name) + words("h3", role) + words("p", line) + prose(site, 3) + words("button", "Write a letter")
    posts = [div(words("h3", t), words("p", x), class_="card") for t, x in site.some("posts", (4, 3, 6)[variant])]
    facts = table(
        ["Since", "Does", "Where"],
        [["2009", role, "Mill Lane"], ["2014", "Courses", "Loft"], ["2020", "Journal", "Desk"]],
    )
    if variant == 1:
        inner = columns(("0 0 300px", portrait + "<br>" + facts), ("1", who + "<hr>" + grid(1, *posts)))
    else:
        cover = picture("Cover", "width: 100%; height: 200px") + "<br>" if variant == 2 else ""
        inner = cover + columns(("0 0 220px", portrait), ("1", who)) + "<hr>" + grid(variant // 2 + 2, *posts)
    return name, head(site) + tag("main", inner) + foot(site)


def guide(site: Site, variant: int) -> tuple[str, str]:
    """How to do something: what is needed, and the steps."""
    title = site.world["guide"]
    top = words("h1", title) + words("p", site.said(3))
    shown = picture(title, f"width: 100%; height: {(380, 320, 260)[variant]}px") + "<br>"
    needs = div(
        words("h2", "You need"), tag("ul", lines(words("li", need) for need in site.world["needs"])), class_="tint"
    )
    steps = words("h2", "How it is done") + listed(site.world["steps"], "ol")
    if variant == 0:
        inner = top + shown + columns(("0 0 320px", needs), ("1", steps + prose(site, 3)))
    elif variant == 1:
        inner = columns(("1", shown + needs), ("1", top + steps))
    else:
        pairs = [
            div(picture(s, "width: 100%; height: 150px"), words("p", s, style="margin-top: 8px"))
            for s in site.world["steps"]
        ]
        inner = top + needs + "<br>" + grid(3, *pairs)
    return title, head(site, stacked=variant == 1) + tag("main", inner) + foot(site)


def timetable(site: Site, variant: int) -> tuple[str, str]:
    """What happens when."""
    rows = [list(event) for event in site.some("events", (10, 8, 6)[variant])]
    plan = table(["Day", "At", "What", "Where"], rows)
    title = words("h1", "What is on") + words("p", site.said(2))
    if variant == 0:
        inner = title + plan + words("p", "Times may change when the weather does.", class_="small")
    elif variant == 1:
        side = (
            picture("Last week", "width: 100%; height: 220px") + "<br>" + form("Book", ["Name", "Which one?"], "Book")
        )
        inner = title + columns(("2", plan), ("1", side))
    else:
        days = [
            div(
                picture(what, "width: 100%; height: 140px"),
                words("h3", what, style="margin-top: 12px"),
                words("p", f"{day} {at}, {where}"),
                class_="card",
            )
            for day, at, what, where in rows[:3]
        ]
        inner = title + grid(3, *days) + "<br>" + plan
    return "What is on", head(site, stacked=variant == 2) + tag("main", inner) + foot(site)


def questions(site: Site, variant: int) -> tuple[str, str]:
    """Frequent questions, with answers."""
    asked = [div(words("h3", q), words("p", f"{a} {site.said(1)}")) for q, a in site.world["questions"]]
    title = words("h1", "Questions") + words("p", site.said(1))
    if variant == 0:
        inner = title + "\n<hr>\n".join(asked)
    elif variant == 1:
        inner = title + grid(2, *asked) + "<hr>" + form("Something else?", ["Your question...", "Your mail"], "Ask")
    else:
        side = words("h3", "Topics") + listed(site.world["topics"]) + picture("The desk", "width: 240px; height: 240px")
        inner = columns(("0 0 240px", side), ("1", title + lines(asked)))
    return "Questions", head(site) + tag("main", inner) + foot(site, columns=variant == 0)


def team(site: Site, variant: int) -> tuple[str, str]:
    """Everybody, with portraits."""
    people = []
    for name, role, line in site.world["people"]:
        said = words("h3", name) + words("p", role, class_="small") + words("p", line)
        if variant == 1:
            people.append(columns(("0 0 140px", picture(name, "width: 140px; height: 140px")), ("1", said)))
        else:
            people.append(div(picture(name, f"width: 100%; height: {(260, 0, 200)[variant]}px"), "<br>", said))
    title = words("h1", "Who we are") + words("p", site.said(3))
    inner = title + grid((3, 2, 3)[variant], *people)
    if variant == 2:
        inner = columns(("0 0 300px", title + words("button", "Work with us")), ("1", grid(2, *people)))
    return "Who we are", head(site) + tag("main", inner) + foot(site, columns=variant == 2)


def search(site: Site, variant: int) -> tuple[str, str]:
    """Results of a search, one below the other."""
    results = []
    for name, fact, text in site.some("items", (6, 5, 7)[variant]):
        said = words("h3", name) + words("p", f"{text} {site.said(1)}") + words("p", fact, class_="small")
        shown = picture(name, "width: 130px; height: 130px")
        results.append(columns(("0 0 130px", shown), ("1", said)) if variant != 2 else div(said, class_="card"))
    asked = form("", ["What are you looking for?"], "Search")
    found = words("h2", f"{len(results)} found") + lines(results)
    side = words("h3", "Topics") + listed(site.world["topics"]) + words("h3", "Hint") + words("p", site.said(2))
    inner = (
        asked + columns(("1", found), ("0 0 240px", side)),
        columns(("0 0 280px", asked + side), ("1", found)),
        asked + grid(2, *results),
    )[variant]
    return "Search", head(site) + tag("main", inner) + foot(site)
