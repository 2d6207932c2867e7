"""Pages that try to reach a server, by every route there is (`{url}` is where), and pages that try to stay."""

ROUTES = {
    "img": '<img src="{url}">',
    "stylesheet": '<link rel="stylesheet" href="{url}">',
    "prefetch": '<link rel="prefetch" href="{url}">',
    "script": '<script src="{url}"></script>',
    "css_import": '<style>@import url("{url}");</style>',
    "css_background": '<div style="width:50px;height:50px;background:url({url})">x</div>',
    "font_face": '<style>@font-face{{font-family:f;src:url("{url}")}}p{{font-family:f}}</style><p>words</p>',
    "iframe": '<iframe src="{url}"></iframe>',
    "srcdoc": "<iframe srcdoc='<img src=\"{url}\">'></iframe>",
    "object": '<object data="{url}" type="text/html"></object>',
    "embed": '<embed src="{url}" type="text/html">',
    "video": '<video src="{url}" preload="auto" autoplay muted></video>',
    "fetch": '<script>fetch("{url}", {{mode: "no-cors"}})</script>',
    "beacon": '<script>navigator.sendBeacon("{url}", "x")</script>',
    "event_source": '<script>new EventSource("{url}")</script>',
    "web_socket": '<script>new WebSocket("{url}".replace("http", "ws"))</script>',
    "new_image": '<script>new Image().src = "{url}"</script>',
    "worker": ("<script>new Worker(URL.createObjectURL(new Blob([\"fetch('{url}', {{mode: 'no-cors'}})\"])))</script>"),
}
"""The 18 routes by which a page can load something."""

LEAVING = {
    "meta_refresh": '<meta http-equiv="refresh" content="0;url={url}">',
    "location": '<script>location = "{url}"</script>',
    "form_submit": '<form action="{url}"></form><script>document.forms[0].submit()</script>',
    "window_open": '<script>window.open("{url}")</script>',
}
"""Ways to go somewhere else instead."""

TOO_LARGE = (
    "<div style='display:grid;grid-template-columns:repeat(100000,1px);grid-template-rows:repeat(100000,1px)'>"
    "<p style='grid-area:99999/99999'>words</p></div>"
)
"""A page whose picture the browser refuses to take."""

LINGERING = {
    "dark by meta": '<meta name="color-scheme" content="dark"><p>words</p>',
    "dark only, by meta": '<meta name=COLOR-SCHEME content="only dark"><p>words</p>',
    "dark by meta, spelled with an entity": '<meta name="color&#45;scheme" content="dark"><p>words</p>',
    "dark by meta in the body": '<body><p>words</p><div><meta name="color-scheme" content="dark light"></div>',
    "dark by meta in a shadow": (
        "<div><template shadowrootmode=open><meta name=color-scheme content=dark><p>words</p></template></div>"
    ),
    "dark by meta in a closed shadow": (
        "<div><template shadowrootmode=closed><meta name=color-scheme content=dark><p>words</p></template></div>"
    ),
    "dark by meta in an svg": "<svg><foreignObject><meta name=color-scheme content=dark></foreignObject></svg>",
    "dark by style": "<style>:root { color-scheme: dark; background: black }</style><p>words</p>",
    "a theme colour": '<meta name="theme-color" content="red"><p>words</p>',
    "a scale of text": '<meta name="text-scale" content="scale"><style>html { font-size: 40px }</style><p>words</p>',
    "a viewport": '<meta name="viewport" content="width=320, initial-scale=3, user-scalable=no"><p>words</p>',
    "zoom": "<style>html { zoom: 3 } body { transform: scale(2) }</style><p>words</p>",
    "a policy of its own": (
        "<meta http-equiv=content-security-policy content=\"style-src 'none'; img-src 'none'\"><p>words</p>"
    ),
    "a policy of its own in a shadow": (
        "<div><template shadowrootmode=open><meta http-equiv=content-security-policy content=\"style-src 'none'\">"
        "</template></div><p>words</p>"
    ),
    "a language": '<meta http-equiv="content-language" content="ar"><p>words</p>',
    "a default style": '<meta http-equiv="default-style" content="other"><p>words</p>',
    "a titled style": "<style title=other>p { color: red }</style><p>words</p>",
    "a titled style in the body": "<body><p>words</p><style title=other>p { color: red }</style>",
    "a titled style in a data URL": '<link rel=stylesheet title=other href="data:text/css,p{color:red}"><p>words</p>',
    "a refresh to a part": '<meta http-equiv="refresh" content="0;url=#part"><p id=part>words</p>',
    "a later refresh to a part": '<meta http-equiv="refresh" content="1;url=#part"><p>words</p>',
    "a refresh to a text": '<meta http-equiv="refresh" content="0;url=#:~:text=words"><p>words</p>',
    "a later refresh": '<meta http-equiv="refresh" content="1;url=/"><p>words</p>',
    "a base": "<base href='http://elsewhere.invalid/' target=_blank><p>words</p>",
    "an origin trial and hints": (
        '<meta http-equiv="origin-trial" content="x"><meta http-equiv="accept-ch" content="dpr">'
        '<meta name="referrer" content="no-referrer"><p>words</p>'
    ),
    "focus": "<input autofocus><p>words</p>",
    "focus far down": "<div style='height:5000px'></div><div tabindex=0 autofocus>words</div>",
    "focus in a frame": "<iframe srcdoc='<input autofocus>'></iframe><p>words</p>",
    "focus in a shadow": "<div><template shadowrootmode=open><input autofocus></template></div><p>words</p>",
    "focus in a dialog": "<dialog open><input autofocus></dialog><p>words</p>",
    "right to left and wide": "<html dir=rtl><body><div style='width:5000px'>words</div>",
    "vertical writing": "<html style='writing-mode:vertical-rl'><body><div style='width:4000px'>words</div>",
    "scrolled by an anchor": (
        "<style>html { scroll-padding: 50vh; scroll-snap-type: y mandatory } p { height: 900px; "
        "scroll-snap-align: end }</style><p>words</p><p>words</p><p>words</p>"
    ),
    "no scrolling": "<style>html, body { overflow: hidden; height: 100% }</style><p>words</p>",
    "names of styles": (
        "<style>@property --shade { syntax: '<color>'; inherits: true; initial-value: red } "
        "@keyframes fade { to { color: red } } @layer last, first; @counter-style dots { system: cyclic; symbols: x } "
        "@font-face { font-family: own; src: local('DejaVu Sans Mono'), local('Liberation Mono') }</style><p>words</p>"
    ),
    "transitions between documents": (
        "<style>@view-transition { navigation: auto } ::view-transition-group(*) { animation-duration: 9s }</style>"
        "<p style='view-transition-name:p'>words</p>"
    ),
    "an animation without end": (
        "<style>@keyframes k { to { opacity: 0 } } p { animation: k 1s infinite }</style><p>words</p>"
    ),
    "sound and film": (
        "<video autoplay muted loop controls src='data:video/webm;base64,GkXfo0'></video>"
        "<audio autoplay controls src='data:audio/wav;base64,UklGRg=='></audio>"
    ),
    "a moving picture": (
        "<svg><circle r=40><animate attributeName=r to=90 dur=1s repeatCount=indefinite /></circle></svg>"
    ),
    "a print style": (
        "<style media=print>p { color: red }</style><style>@page { size: A8; margin: 0 }</style><p>words</p>"
    ),
    "unfinished": "<frameset><noframes><!-- <title><textarea><plaintext><p>words",
    "filters and references": "<svg><filter id=part><feFlood flood-color=red /></filter></svg><p>words</p>",
    "a target that loads nothing": (
        "<a href='#part' ping=/x>words</a><form action=/ target=_self><input type=image></form>"
    ),
    "too large for a picture": TOO_LARGE,
    "too many components": "<p>x</p>" * 21_000,
}
"""Pages that try to leave something behind for the next page in their tab; none has scripts."""

SCRIPTED = {
    "storage": "localStorage.x = sessionStorage.x = 'x'; document.cookie = 'x=1'; name = 'x'",
    "a colour scheme": (
        "document.head.append(Object.assign(document.createElement('meta'), {name: 'color-scheme', content: 'dark'}))"
    ),
    "a place": "document.body.style.height = '9000px'; scrollTo(0, 4000); history.pushState(0, '', '#part')",
    "a screen": "document.documentElement.requestFullscreen(); resizeTo(300, 300); document.body.style.zoom = 3",
    "sound": "new Audio('data:audio/wav;base64,UklGRg==').play(); new AudioContext().resume()",
    "a worker": "navigator.serviceWorker.register('/x.js'); new BroadcastChannel('x').postMessage('x')",
}
"""Scripts that try the same."""

SENSITIVE = (
    "<!doctype html><html><head><title>t</title><style title=own>p { color: blue } .only { font-size: 30px }</style>"
    "<style>p { margin: 4px } :target { background: red } :focus { outline: 9px solid green } "
    "a:visited { color: red } :lang(ar) { letter-spacing: 9px } "
    "@media (prefers-color-scheme: dark) { body { border: 9px solid red } } "
    "@layer first { b { color: green } } @layer last { b { color: purple } } "
    ".shade { --shade: 12; color: var(--shade) } .fade { animation: fade 1s forwards } ol { list-style: dots } "
    ".own { font-family: own, serif } "
    ".fixed { position: fixed; top: 60px; right: 9px } .flood { filter: url(#part) }</style></head><body>"
    "<p id=part class=only>words <q>quoted <q>twice</q></q></p><p class=shade>shade</p><p class=fade>fade</p>"
    "<p class=own>own</p><p class=flood>flood</p><b>layers</b><ol><li>one<li>two</ol><a href='/#part'>part</a> "
    "<a href='/'>here</a><div class=fixed>fixed</div><img src=rick.jpg width=90 height=60><input type=checkbox checked>"
    "<input value=text><button>button</button><select><option>option</select><progress value=.4></progress>"
    "<div style='height:60px;overflow:auto;width:90px'>{}</div><canvas style='border:1px solid'></canvas>"
    "<details open><summary>summary</summary>words</details><table border=1><tr><td>cell</table>"
    "<div tabindex=0 autofocus>focus</div>"
).replace("{}", "words " * 40)
"""A page that looks different where something of another page is still there."""
