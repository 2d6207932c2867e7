"""Measures the booking site: requests per second, memory of sessions, and a step in a browser."""

import json
import subprocess
import sys
import time
from statistics import median, quantiles
from typing import Any

import gymnasium as gym
from reference import Reference
from support.figures import PRELUDE, figure, in_fresh_process

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.site.serving import host_booking
from iad_envs.browser.errors import BrowserNotFound

N_CLIENTS = 32
CLIENTS = """
import html, http.client, random, re, threading
from urllib.parse import urlencode
address, n_clients, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
times, errors, booked, lock = [], [], [], threading.Lock()
end = time.perf_counter() + seconds
TOKEN = re.compile(r'name="token" value="([0-9a-f]+)"')
BUTTON = re.compile(r'<button [^>]*value="([^"]+)" data-click')
PERSON = {"first-name": "Ada", "last-name": "Lovell", "phone": "555-0123", "email": "ada@example.org"}

def visitor(number):
    line, mine, rng = http.client.HTTPConnection(address, timeout=30), [], random.Random(number)
    def ask(method, path, form=None):
        body = None if form is None else urlencode(form)
        headers = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
        start = time.perf_counter()
        line.request(method, path, body, headers)
        answer = line.getresponse()
        text = answer.read().decode()
        mine.append(time.perf_counter() - start)
        if answer.status not in (200, 303):
            raise RuntimeError(f"{answer.status} {path}")
        return answer.headers.get("Location") or text
    try:
        visit = 0
        while time.perf_counter() < end:
            path, visit, n_booked = f"/client{number}_{visit}/", visit + 1, 0
            page, typed = ask("GET", path), {"q": rng.choice(WORDS)}
            for _ in range(12):
                buttons = BUTTON.findall(page)
                wanted = [one for start in ("complete", "seat-", "slot-", "r-", "go", "home")
                          for one in buttons if one.startswith(start)]
                if not wanted:
                    n_booked += "confirmed" in path
                    break
                kind = wanted[0].partition("-")[0]
                button = rng.choice([one for one in wanted if one.partition("-")[0] == kind])
                if kind == "go" and "/search" in path:
                    button = "home"
                form = {"token": TOKEN.search(page)[1], "do": button, **(PERSON if kind == "complete" else typed)}
                path = ask("POST", path, form)
                page = ask("GET", path)
            with lock:
                booked.append(n_booked)
    except Exception as error:
        errors.append(repr(error))
    with lock:
        times.extend(mine)

WORDS = ["bistro", "italian", "house", "the", "taverna", "seafood", "", "brasserie", "no such word"]
threads = [threading.Thread(target=visitor, args=(number,)) for number in range(n_clients)]
start = time.perf_counter()
[thread.start() for thread in threads]
[thread.join() for thread in threads]
took = time.perf_counter() - start
print(json.dumps({"times": times, "errors": errors, "seconds": took, "visits": len(booked), "booked": sum(booked)}))
"""
SESSIONS = """
import gc, tracemalloc
from iad_envs.booking.site.app import BookingSite, create_app
from iad_envs.booking.env import load_engine
from iad_envs.booking.pages import page_of
from iad_envs.booking.site.serving import starts_of
from iad_envs.data import data_folder
folder = data_folder("booking", None).resolve()
engine = load_engine(folder)
site = BookingSite(engine, starts_of(folder, "test"))
client = create_app(site).test_client()
GOTO = "GOTO [/r/bistro-fennel-port-alder?date=2026-06-17&time=19:00&party=2]"
LONG = {name: "x" * 100 for name in ("first-name", "last-name", "phone", "email", "note")}

def visit(session):
    forms = ({"do": "go", "q": "bistro"}, {"do": "mine"}, {"do": "home"}, {"do": "go", "q": session})
    path = f"/{session}/"
    for form in forms:
        answer = client.post(path, data={**form, "token": site.token(session)})
        assert answer.status_code == 303, answer.status_code
        path = answer.location
    state = engine.act(site.sessions.get(session), GOTO).state
    while not (state.hold and state.hold.table.seating):
        choices = [one.id for one in page_of(engine.world, state).elements if one.id.startswith(("slot-", "seat-"))]
        state = engine.press(state, choices[0]).state
    site.sessions.put(session, state)
    client.post(f"/{session}/hold", data={**LONG, "do": "complete", "token": site.token(session)})
    assert dict(site.sessions.get(session).typed)["note"] == LONG["note"]

for number in range(200):
    visit(f"warm{number}")
gc.collect()
tracemalloc.start()
before = tracemalloc.get_traced_memory()[0]
n = int(sys.argv[1])
for number in range(n):
    visit(f"visit{number}")
gc.collect()
print(json.dumps({"session_kb": (tracemalloc.get_traced_memory()[0] - before) / 1024 / n}))
"""


def site_requests(reference: Reference, seconds: float = 6.0) -> None:
    """Print the requests per second that 32 clients in another process get from one server, booking tables."""
    reference.sample()
    with host_booking(port=0) as server:
        arguments = [server.address.removeprefix("http://"), str(N_CLIENTS), str(seconds)]
        command = [sys.executable, "-c", PRELUDE + CLIENTS, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 60)
    reference.sample()
    found = json.loads(done.stdout)
    times = found["times"]
    reference.figure("site_requests_per_s", len(times) / found["seconds"], "requests/s", target=300.0, n=len(times))
    figure("site_p50_ms", 1000 * median(times), "ms", n=len(times))
    figure("site_p99_ms", 1000 * quantiles(times, n=100)[98], "ms", n=len(times))
    figure("site_errors", len(found["errors"]), "requests", target=0, n=len(times))
    figure("site_booked", found["booked"] / found["visits"], "share", better="higher", n=found["visits"])
    for error in found["errors"][:3]:
        print(error, file=sys.stderr)


def site_sessions(n: int = 1000) -> None:
    """Print the memory of a session that holds a table and has 500 characters in its form."""
    found = in_fresh_process(SESSIONS, n, n=1)
    figure("site_session_kb", found["session_kb"], "kB", target=4.0, n=n)


def site_in_browser(n_episodes: int = 6) -> None:
    """Print the time of a step of gold in the browser."""
    try:
        env: Any = gym.make("IAD/BookingBrowser-v0").unwrapped
    except (BrowserNotFound, ModuleNotFoundError) as error:
        print(f"browser_step_ms: {error}", file=sys.stderr)
        return
    times = []
    for seed in range(n_episodes):
        env.reset(seed=seed)
        for action in env.oracle(env.snapshot())["solution"]:
            start = time.perf_counter()
            env.step(action)
            times.append(1000 * (time.perf_counter() - start))
    figure("browser_step_ms", median(times), "ms", n=len(times))
    env.close()
