"""Pages that try to reach a server, by every route there is; `{url}` is where."""

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
