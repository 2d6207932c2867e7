"""A stand-in for Chromium that fails in a chosen way when it has to photograph a harmful page."""

import sys
from pathlib import Path
from typing import Literal

HARMFUL = "<p>harmful</p>"
"""A page whose picture this browser doesn't take."""
PROGRAM = """#!{python}
import base64, json, os, sys, time

HOW = {how!r}
BOXES = dict.fromkeys(("video", "image", "form_table", "button", "nav_bar", "divider"), [])
PAGE = dict(kinds=dict(BOXES, text_block=[[0, 0, 90, 20]]), width=90, height=40, title="", fragmented=0, lingers=False)
ANSWERS = {{
    "Browser.getVersion": {{"product": "Fake/1"}},
    "Target.createBrowserContext": {{"browserContextId": "context"}},
    "Target.createTarget": {{"targetId": "target"}},
    "Page.getFrameTree": {{"frameTree": {{"frame": {{"id": "frame"}}}}}},
    "Page.createIsolatedWorld": {{"executionContextId": 1}},
    "Page.captureScreenshot": {{"data": {picture!r}}},
}}
documents, n_sessions, buffer = {{}}, 0, b""
while data := os.read(3, 1 << 16):
    *messages, buffer = (buffer + data).split(b"\\0")
    for message in map(json.loads, messages):
        method, session = message["method"], message.get("sessionId", "")
        answer = {{"id": message["id"], "result": ANSWERS.get(method, {{}})}}
        if method == "Target.attachToTarget":
            n_sessions += 1
            answer["result"] = {{"sessionId": f"session {{n_sessions}}"}}
        elif method == "Page.setDocumentContent":
            documents[session] = message["params"]["html"]
        elif method == "Runtime.evaluate":
            collects = "maxBoxes" in message["params"]["expression"]
            answer["result"] = {{"result": {{"value": json.dumps(PAGE) if collects else None}}}}
        elif method == "Page.captureScreenshot" and {harmful!r} in documents[session]:
            if HOW != "refuses":
                time.sleep(HOW == "hangs")
                sys.exit()
            answer = {{"id": message["id"], "error": {{"message": "Unable to capture screenshot"}}}}
        os.write(4, json.dumps(answer).encode() + b"\\0")
"""
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="


def make_chromium(folder: Path, how: Literal["refuses", "hangs", "ends"]) -> str:
    """Write the program, and return its path."""
    path = folder / f"chromium-that-{how}"
    path.write_text(PROGRAM.format(python=sys.executable, how=how, picture=PICTURE, harmful=HARMFUL), encoding="utf-8")
    path.chmod(0o700)
    return str(path)
