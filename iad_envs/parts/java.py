"""The Java runtime that Lucene runs on: pip's, or the one that JAVA_HOME names."""

import sys
from importlib.util import find_spec

from iad_envs.parts import Missing, Part, first_line

TRIAL = (
    "from webshop_server.search.lucene import start_java; start_java(); import jnius, os; "
    "print(jnius.autoclass('java.lang.System').getProperty('java.version'), os.environ['JAVA_HOME'], sep=', ')"
)
"""What Lucene starts with; in a process of its own, since a Java machine can't be stopped."""


def _java(limit_s: float) -> str:
    if find_spec("pyserini") is None or find_spec("jnius") is None:
        raise Missing({"extra": "lucene", "package": "torch"}, "no pyserini, which brings it")
    return first_line([sys.executable, "-c", TRIAL], limit_s)


JAVA = Part("Java", _java, "WebShop's search='lucene'")
