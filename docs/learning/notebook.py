"""Makes the tutorial a notebook, executes it and prints where it is: `make notebook`. The page is its text source."""

import os
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbclient

PAGE = Path(__file__).with_name("tutorial.md")


def executed(folder: Path) -> Any:
    """Return the page as a notebook whose commands ran in a folder, one after another.

    Raises:
        nbclient.exceptions.CellExecutionError: A command failed.
    """
    notebook = jupytext.read(PAGE)
    notebook.metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = f"%%sh -e\n{cell.source}"
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where `iad` is
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


if __name__ == "__main__":
    build = Path("build/notebook")
    build.mkdir(parents=True, exist_ok=True)
    jupytext.write(executed(build), build / "tutorial.ipynb")
    print(build / "tutorial.ipynb")
