"""Draws actions of an agent that wants to break an environment: one list per environment, the same for each seed."""

from collections.abc import Callable, Mapping
from random import Random

from tests.effort import times
from tests.security.html_pages import LEAVING, LINGERING, ROUTES, SCRIPTED
from tests.security.test_html_bombs import BOMBS, HARMLESS, SCRIPT_BOMBS
from tests.security.test_sql_attacks import ATTACKS, ENDLESS

MANY = times(10**6)
"""Characters of a long text, and items of a long list."""
LONGEST = 2_100_000
BRACKETS = ("[]", "()", "{}", "<>")
PIECES = (
    "\ud83d", "\ude00", "\x00", "\x1b[2J", "\u202e", "\u2066", "\u2028", "\ufeff", "\uffff", "\U0010ffff", "\ufdfa",
    "\u0130", "\u00df", "e\u0301", "\u0663", "\u200b", "\r\n", "\t", "'", '"', "`", "\\", "```", "[/bold]", "{{7*7}}",
    "${HOME}", "%s%n", "{0.__class__}", "<script>", "</p>", "<!--", "]]>", "&lt;", "../", "..\\", "%2e%2e%2f", "%00",
    "/etc/passwd", "file:///etc/shadow", "http://[::1]:0/", "javascript:alert(1)", "//x", "' OR 1=1 --", "; DROP TABLE",
    "$(reboot)", "(a+)+$", "[^", "<tool_call>", "Action:", "reply[", "search[", "buy now", "submit", "None", "-", "🦉",
)  # fmt: skip
NUMBERS = (
    "1e999999", "-1e308", "NaN", "-Infinity", "0x7fffffffffffffff", "9" * 5_000, "-0", "1_000", "٣", "1.5.2", "0b1",
    "99999-12-31", "0000-00-00", "2026-02-30", "24:61", "-1", "18446744073709551616", "9**9**9", "True", "1j",
)  # fmt: skip


def _nested(draw: Random) -> str:
    opening, closing = draw.choice(BRACKETS)
    n = draw.choice((100, 1_000, 5_000, MANY // 10))
    return opening * n + draw.choice(("", "1", "x")) + closing * draw.choice((n, n, 0))


SHAPES: tuple[Callable[[Random], str], ...] = (
    lambda draw: "".join(draw.choices(PIECES, k=draw.randint(1, 12))),
    lambda draw: draw.choice(PIECES) * draw.choice((100, 5_000, MANY // 10)),
    lambda draw: draw.choice(("x", " ", "`", "-", "a ", "ab!")) * draw.choice((300, 5_000, MANY)),
    lambda draw: draw.choice(NUMBERS),
    _nested,
    lambda draw: "../" * draw.randint(1, 400) + draw.choice(("etc/passwd", "proc/self/environ", "data", "")),
    lambda draw: "".join(chr(draw.randrange(0x110000)) for _ in range(draw.choice((1, 30, 3_000)))),
    lambda draw: f"[{'0,' * MANY}0]",
    lambda draw: '{"a":' * draw.choice((50, 900, 20_000)) + "1",
    lambda draw: " ".join(str(draw.random()) for _ in range(draw.choice((10, 20_000)))),
    lambda draw: draw.choice(("", " ", "\n", ".")),
)


def text(draw: Random) -> str:
    """A text that no one expects."""
    return draw.choice(SHAPES)(draw)


SHOP = ("search[{}]", "click[{}]", "search[{}", "{}", "click[next >] {}", "SEARCH[red {}]", "click[back to search]{}",
        "click[buy now]", "search[shoes]")  # fmt: skip
SITE = ("CLICK [{}]", "TYPE [date] [{}]", "TYPE [time] [{}]", "TYPE [party] [{}]", "TYPE [query] [{}]", "GOTO [{}]",
        "GOTO [/search?date={}]", "GOTO [/r/{}?party={}]", "ASK USER HELP [{}]", "SUBMIT [{}]", "CLEAR [{}]", "{}",
        "SCROLL [{}]", "TYPE [{}] [{}]")  # fmt: skip
CALLS = ("[TOOL(PARAM={})]", "[TOOL(PARAM='{}')]", "[TOOL({})]", "[TOOL(**{})]", "[TOOL(PARAM={}, PARAM={})]", "{}",
         '[{{"name": "TOOL", "arguments": {{"PARAM": {}}}}}]', '{{"name": "TOOL", "arguments": {}}}', "reply[{}]",
         "[{}(PARAM=1)]", "[TOOL(PARAM=[{}])]", "[TOOL(PARAM='x' * {})]", "TOOL(PARAM={})", "finish conversation{}",
         "[" + "TOOL(PARAM='{}'), " * 300 + "TOOL()]", "[TOOL(PARAM=TOOL(PARAM={}))]")  # fmt: skip
SQL = (
    *ATTACKS.values(),
    "SELECT '{}'",
    'SELECT "{}" FROM sqlite_master',
    "SELECT {}",
    "{}",
    "SELECT randomblob(1000000) FROM sqlite_master a, sqlite_master b, sqlite_master c, sqlite_master d",
    "SELECT * FROM sqlite_master a, sqlite_master b, sqlite_master c, sqlite_master d, sqlite_master e",
    f"{ENDLESS} SELECT n, '{{}}' FROM c",
    "SELECT x'00ff', char(0), char(55357), CAST(x'ff80' AS TEXT), 9e999, -9e999, NULL",
    "SELECT 1 AS '{}', 2 AS '{}'",
    "ATTACH '{}' AS x",
    "PRAGMA cache_size = {}",
    "SELECT load_extension('{}')",
    "SELECT readfile('{}'), writefile('{}', 1)",
    "DELETE FROM sqlite_master; {}",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3000000) SELECT n FROM c",
)
QUERIES = ("execute[{}]", "execute[{}]", "submit[{}]", "{}", "```sql\n{}\n```")
PAGES = (
    *(page.format(url="http://127.0.0.1:9/x") for page in (*ROUTES.values(), *LEAVING.values())),
    *LINGERING.values(),
    *(f"<script>{script}</script><p>words</p>" for script in SCRIPTED.values()),
    *BOMBS.values(),
    *SCRIPT_BOMBS.values(),
    *HARMLESS.values(),
    "<script>setInterval(() => { for (let i = 0; i < 1e9; i++); })</script><p>x</p>",
    "<script>for (let i = 0; i < 1e5; i++) document.body.append(document.createElement('p'))</script>",
    "<script>while (true) window.open('about:blank')</script>",
    "<script>const go = () => Promise.resolve().then(go); go()</script>",
    "<script>addEventListener('beforeunload', () => { for (;;); }); location = 'about:blank'</script>",
    "<script>document.write('<p>' + 'x'.repeat(1e9))</script>",
    "<script>new Worker(URL.createObjectURL(new Blob(['for (;;);'])))</script><p>x</p>",
    "<style>p::before {{ content: '{}' }}</style><p>{}</p>",
    "<p title='{}'>{}</p>",
    "<h1>{}</h1><a href='{}'>{}</a>",
    "```html\n{}",
    "{}",
    "ask[{}]",
)
SHELL = (
    "head -c 200M /dev/zero >/tmp/big{}",
    "fallocate -l 200M /tmp/f; cat /tmp/f /tmp/f >/tmp/g",
    "dd if=/dev/zero of=/root/r bs=1M count=250; ls -l /root/r",
    "yes >/tmp/yes",
    "truncate -s 8E /tmp/s; truncate -s 100G /tmp/t; cp --sparse=never /tmp/t /tmp/u",
    'cd /tmp; perl -e \'for (1..70000) {{ open F, ">", ("n" x 200) . $_ }}\'',
    'cd /tmp; perl -e \'for (1..3000) {{ mkdir "d" x 200; chdir "d" x 200 }} open F, ">", "x"; print F "x"\'',
    'cd /tmp; perl -e \'open F, ">", "a"; print F "x" x 9000000; close F; link "a", $_ for 1..40000\'',
    'cd /tmp; perl -e \'for (0..255) {{ open F, ">", "n" . chr($_) . "\\n" }} symlink "x" x 4000, "l"\'',
    'cd /tmp; python3 -c \'import os; [os.setxattr(".", f"user.{{i}}", b"x" * 60000) for i in range(9999)]\'',
    ":(){{ :|:& }};:",
    "perl -e 'fork while 1'",
    "for i in $(seq 100); do (setsid sleep 100 &) ; done",
    "(setsid bash -c 'trap \"\" TERM HUP; while :; do echo x >>/tmp/w; done' >/dev/null 2>&1 &)",
    "perl -e 'for my $u (1..60) {{ if (!fork) {{ $< = $> = $u; fork for 1..4; 1 while 1 }} }}'",
    "nohup yes >/tmp/yes & disown; echo {} left",
    "kill -9 -1",
    "kill -9 1; kill -STOP 1; kill -SEGV 1; kill -9 $PPID",
    "for s in $(seq 64); do kill -$s 1; done",
    "kill -STOP $$",
    "kill -SEGV $$",
    "trap '' TERM INT HUP XCPU; while :; do :; done",
    "exec 0<&- 1>&- 2>&-; while :; do :; done",
    'for f in /proc/self/fd/*; do eval "exec ${{f##*/}}>&-"; done; echo {}',
    "printf 'nowhere\\0\\0' >&199; printf '/\\xff\\xfe\\0/x\\0' >&199; kill -9 $$",
    "head -c 20000 /dev/zero | tr '\\0' / >&199; trap - EXIT",
    "for f in /proc/$$/fd/* /proc/1/fd/*; do echo {} >$f; truncate -s 1G $f; done",
    "ulimit -n 1; ulimit -f 0; ulimit -u 1; echo x >/tmp/x; ls",
    "ulimit -s 1; ulimit -v 1000; ls | cat",
    "echo -1000 >/proc/1/oom_score_adj; echo -1000 >/proc/self/oom_score_adj; echo c >/proc/sysrq-trigger",
    "echo 0 >/proc/sys/kernel/pid_max; echo 1 >/proc/1/clear_refs; cat /proc/1/mem /proc/kcore",
    "perl -e 'print syscall(101, 16, 1, 0, 0), $!; print syscall(310, 1, 0, 0, 0, 0, 0), $!'",
    "perl -e 'my $x = \"x\" x (900 << 20); fork for 1..3; substr($x, $_ << 12, 1) = 1 for 0..230000; sleep 9'",
    "tail /dev/zero",
    "python3 -c 'x = [0] * 10**10'",
    "cat /dev/zero",
    "yes | tr '\\n' '\\0'",
    "cat /dev/urandom | head -c 3M",
    "sleep 1000",
    "mkfifo /tmp/p; cat /tmp/p",
    "coproc cat; exec {{COPROC[0]}}<&-; wait",
    "unshare -rm bash -c 'mount -t tmpfs x /tmp'; mount --bind / /mnt; umount -a; chroot /",
    "rm -rf --no-preserve-root /",
    "chmod -R 000 / 2>/dev/null; chown -R 9:9 /etc",
    "rm -rf /tmp; ln -s /proc /tmp; mv /etc /etc2",
    "mkdir -p /tmp/a/b && cd /tmp/a/b && rm -rf /tmp/a && ls",
    "cd /tmp; mkdir '{}'; cd '{}'; pwd",
    "cd /tmp; for i in $(seq 3000); do mkdir d; cd d || break; done",
    "perl -MSocket -e 'socketpair($a[$_], $b[$_], AF_UNIX, SOCK_STREAM, 0), syswrite $a[$_], \"x\" x 99999 for 1..99'",
    "exec perl -e 'exit 255'",
    "exit {}",
    "echo '{}' >/tmp/{}",
    "cat <<<'{}' | md5sum",
    "( ( ( {}",
    "{}",
)


def _from(forms: tuple[str, ...]) -> Callable[[Random], str]:
    """Return what draws one of some forms and fills it."""

    def one(draw: Random) -> str:
        form = draw.choice(forms)
        return form if form in ATTACKS.values() or "{}" not in form else _filled(form, draw)

    return one


def _filled(form: str, draw: Random) -> str:
    if form in PAGES[:-6]:
        return form
    n = form.count("{}")
    return form.format(*(text(draw)[: LONGEST // n] for _ in range(n)))


def _query(draw: Random) -> str:
    return draw.choice(QUERIES).format(_from(SQL)(draw))


def _command(draw: Random) -> str:
    form = draw.choice(SHELL)
    return form.format(*(text(draw)[:90_000] for _ in range(form.count("{}"))))


DRAWN: Mapping[str, Callable[[Random], str]] = {
    "IAD/WebShop-v0": _from(SHOP),
    "IAD/InterCodeBash-v0": _command,
    "IAD/BIRD-v0": _query,
    "IAD/Sketch2Code-v0": _from(PAGES),
    "IAD/Booking-v0": _from(SITE),
    "IAD/BFCL-v0": _from(CALLS),
    "IAD/ACEBench-v0": _from(CALLS),
}


def hostile_actions(env: str, n: int, *, seed: int = 0) -> list[str]:
    """Draw n actions against an environment."""
    draw = Random(f"{env} {seed}")
    return [DRAWN[env](draw) for _ in range(n)]
