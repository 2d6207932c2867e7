"""Measures the shop's web site: requests per second, memory of sessions, and a step in a browser compared with text.

`--full` runs longer. All traffic stays on the loopback interface, and the loops are bounded.
"""

import json
import random
import subprocess
import sys
import time
from statistics import median, quantiles
from typing import Any

import gymnasium as gym
from support.figures import PRELUDE, figure, in_fresh_process

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.errors import BrowserNotFound
from webshop_server.site.serving import host_shop

FULL = "--full" in sys.argv
N_EPISODES = 40 if FULL else 6

CLIENTS = """
import http.client, random, re, threading
address, seconds = sys.argv[1], float(sys.argv[2])
times, errors = [], []
end = time.perf_counter() + seconds

def shopper(number):
    line, rng, visit = http.client.HTTPConnection(address, timeout=30), random.Random(number), 0
    def ask(method, path, body=None):
        start = time.perf_counter()
        line.request(method, path, body, {"Content-Type": "application/x-www-form-urlencoded"} if body else {})
        answer = line.getresponse()
        text = answer.read().decode()
        times.append(time.perf_counter() - start)
        if answer.status not in (200, 303):
            raise RuntimeError(f"{answer.status} {path}")
        return answer.headers.get("Location") or text
    try:
        while time.perf_counter() < end:
            session, visit = f"/client{number}_{visit}", visit + 1
            ask("GET", session)
            query = f"{rng.choice(WORDS)}+{rng.choice(WORDS)}+{rng.random()}"
            page = ask("GET", ask("POST", session, f"search_query={query}"))
            for _ in range(4):
                links = re.findall(r'href="(/(?:search_results|item_page|item_sub_page)/[^"]+)"', page)
                if not links:
                    break
                page = ask("GET", rng.choice(links))
    except Exception as error:
        errors.append(repr(error))

WORDS = "shoe women throw wall red bar gluten free hair pack wireless cotton large black set kit steel".split()
threads = [threading.Thread(target=shopper, args=(number,)) for number in range(32)]
start = time.perf_counter()
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps({"times": times, "errors": errors, "seconds": time.perf_counter() - start}))
"""
SESSIONS = """
import gymnasium as gym, iad_envs
from webshop_server.site.app import Site, create_app
front = gym.make("IAD/WebShop-v0").unwrapped.storefront
site = Site(front.shop, front.tasks)
with create_app(site).app_context():
    for number in range(1_000):
        site.index(f"warm{number}")
    before = held_mb()
    for number in range(int(sys.argv[1])):
        site.index(f"visit{number}")
    print(json.dumps({"sessions_kept": len(site.sessions), "sessions_mb": held_mb() - before}))
"""


def requests() -> None:
    """Print the requests per second that 32 clients in another process get from one server."""
    env: Any = gym.make("IAD/WebShop-v0").unwrapped
    with host_shop(env.storefront, port=0) as server:
        arguments = [server.address.removeprefix("http://"), "20" if FULL else "6"]
        command = [sys.executable, "-c", PRELUDE + CLIENTS, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=80)
    found = json.loads(done.stdout)
    times = found["times"]
    figure("requests_per_s", len(times) / found["seconds"], "1/s", better="higher", n=len(times))
    figure("p50_ms", 1000 * median(times), "ms", n=len(times))
    figure("p99_ms", 1000 * quantiles(times, n=100)[98], "ms", n=len(times))
    figure("errors", len(found["errors"]), "requests", target=0, n=len(times))
    for error in found["errors"][:3]:
        print(error, file=sys.stderr)


def hosted() -> None:
    """Print the time of a step on a hosted shop, compared with one in this process."""
    local: Any = gym.make("IAD/WebShop-v0").unwrapped
    data = {"name": local.data.name, "digest": local.data.digest}
    with host_shop(local.storefront, port=0, token="known to this run only", data=data) as server:
        env: Any = gym.make("IAD/WebShop-v0", server=server.address, token="known to this run only").unwrapped
        times = walk([local, env], 5 * N_EPISODES)
        env.close()
    figure("hosted_step_ms", median(times[1]), "ms", baseline=median(times[0]), n=len(times[1]))


def browser() -> None:
    """Print the time of a step in the browser, compared with the same step in text."""
    try:
        browser: Any = gym.make("IAD/WebShopBrowser-v0").unwrapped
    except (BrowserNotFound, ModuleNotFoundError) as error:
        print(f"browser_step_ms: {error}", file=sys.stderr)
        return
    start = time.perf_counter()
    browser.reset(seed=0)
    figure("browser_start_s", time.perf_counter() - start, "s")
    times = walk([gym.make("IAD/WebShop-v0").unwrapped, browser], N_EPISODES)
    figure("browser_step_ms", median(times[1]), "ms", baseline=median(times[0]), n=len(times[1]))
    browser.close()


def walk(envs: list[Any], n_episodes: int) -> list[list[float]]:
    """Run the same random episodes in each environment, and return the milliseconds of their steps."""
    rng = random.Random(0)
    times: list[list[float]] = [[] for _ in envs]
    for seed in range(n_episodes):
        for env in envs:
            _, info = env.reset(seed=seed)
        done = False
        while not done:
            actions = [action for action in info["available_actions"] if action != "click[buy now]"]
            action = rng.choice(actions).replace("...", f"red shoe {rng.random()}")
            for env, its in zip(envs, times, strict=True):
                start = time.perf_counter()
                *_, terminated, truncated, info = env.step(action)
                its.append(1000 * (time.perf_counter() - start))
            done = terminated or truncated
    return times


def main() -> None:
    requests()
    found = in_fresh_process(SESSIONS, 100_000, n=1)  # that many sessions, of which memory is left
    figure("sessions_kept", found["sessions_kept"], "sessions", target=20_000, n=100_000)
    figure("sessions_mb", found["sessions_mb"], "MB", target=50, n=100_000)
    hosted()
    browser()


if __name__ == "__main__":
    main()
