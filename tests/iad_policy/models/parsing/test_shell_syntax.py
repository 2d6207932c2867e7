"""Where shell commands end, compared with Bash itself."""

import shutil
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from iad_policy.models.parsing.shell_syntax import ends_of_commands, is_complete, is_inside_document

PIECES = (
    "ls", "echo", "a", "-x", "'q q'", '"d $(x) d"', '"d `y` d"', "`z`", "$(w)", "$((1+2))", "${v}", "${v#*}",
    "a\\\n", "\n", "|", "&&", "||", ";", "&", ">f", "2>&1", "<f", "# c'\n", "if", "then", "fi", "else", "for",
    "in", "do", "done", "while", "case", "esac", ";;", "a)", "(", ")", "{", "}", "!", "[[ -f a ]]",
    "( ls )", "[[ a =~ (x) ]]", "((1<<2))", "for ((;;))", "(b)", "f()", "function f", "if a; then b; fi", "x=(a b)",
    "<<E\nx y'\nE\n", "<<-E\n\tx\n\tE\n", "<<<s", "'", '"', "`", "$'a\\'b'", "time", "f() {",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("ls", ["ls"]),
        ("ls\n", ["ls"]),
        ("ls\npwd", ["ls", "ls\npwd"]),
        ("ls \\\n -la\npwd", ["ls \\\n -la", "ls \\\n -la\npwd"]),
        ("a |\nb", ["a |\nb"]),
        ("a && # so\nb", ["a && # so\nb"]),
        ("# no command yet\n\nls", ["# no command yet\n\nls"]),
        ("for a in *\ndo\n b\ndone", ["for a in *\ndo\n b\ndone"]),
        ("case a in\n x) b;;\nesac", ["case a in\n x) b;;\nesac"]),
        ("f() {\n a\n}\nf", ["f() {\n a\n}", "f() {\n a\n}\nf"]),
        ("function f {\n a\n}", ["function f {\n a\n}"]),
        ("f()\n{\n a\n}", ["f()\n{\n a\n}"]),
        ("function f\n{\n a\n}", ["function f\n{\n a\n}"]),
        ("f() { for i in a; do b; done }\nf", ["f() { for i in a; do b; done }", "f() { for i in a; do b; done }\nf"]),
        ("{ (a) }", ["{ (a) }"]),
        ("if (a) then [[ b ]] fi", ["if (a) then [[ b ]] fi"]),
        ("for ((;;)) {\n a\n}", ["for ((;;)) {\n a\n}"]),
        ("a | time for", ["a | time for"]),
        ("x=()\na", ["x=()", "x=()\na"]),
        ("cat <<A <<-'B c'\n1\nA\n\tB c\nls", ["cat <<A <<-'B c'\n1\nA\n\tB c", "cat <<A <<-'B c'\n1\nA\n\tB c\nls"]),
        ("echo \"$(echo ')\n'; ls)\"", ["echo \"$(echo ')\n'; ls)\""]),
        ("echo $((1 << x))\nx", ["echo $((1 << x))", "echo $((1 << x))\nx"]),
        ("echo 'a", []),
        ("cat <<A\n1", []),
        ("echo it's\nall it isn't", []),
        ("", []),
    ],
)
def test_a_command_ends_with_the_line_at_which_nothing_is_open(text: str, ends: list[str]) -> None:
    assert [text[:end] for end in ends_of_commands(text)] == ends


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("cat <<A\nx\n", True),
        ("cat <<A\nx\nA\n", False),
        ("echo '<<A'\n", False),
        ("cat <<A\nA b\n", True),
        ("", False),
    ],
)
def test_the_marks_of_a_fence_belong_to_a_here_document_that_is_open(text: str, inside: bool) -> None:
    assert is_inside_document(text) is inside


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map(" ".join))
def test_bash_finds_the_same_commands_complete(text: str) -> None:
    checked = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    is_open = any(word in checked.stderr for word in ("end of file", "unexpected EOF", "here-document"))
    assume(is_open or checked.returncode == 0)  # what is wrong in another way is no command
    assume("`" not in text or not ("'" in text or '"' in text))  # bash reads what is in backquotes when it runs it
    assume(not text.endswith("\\\n"))  # an answer may end there, a command does not
    assume(any(line.strip() and not line.strip().startswith("#") for line in text.split("\n")))
    assert is_complete(text) is not is_open
