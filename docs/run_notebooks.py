"""Execute the notebooks in docs/notebooks and store their outputs: `make notebooks`.

Arguments name notebooks to execute; by default all are. The tests execute them as well, and compare
the outputs with the stored ones.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parent / "notebooks"
TIMEOUT_S = 600


def execute(path: Path) -> nbformat.NotebookNode:
    """Return the notebook `path` with the outputs of a new kernel, and nothing that varies."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(FOLDER)}}
    with tempfile.TemporaryDirectory() as sockets:
        NotebookClient(
            notebook, timeout=TIMEOUT_S, resources=resources, config=kernel_config(sockets)
        ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = join_streams(cell.outputs)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def kernel_config(sockets: str) -> Config:
    """Return the settings of a kernel that is reached through sockets in the folder `sockets`.

    A TCP port that is free when it is chosen may be taken by another process before the kernel
    binds it. Windows has no such sockets; there, TCP is used.
    """
    if os.name != "posix":
        return Config()
    return Config({"ConnectionFileMixin": {"transport": "ipc", "ip": f"{sockets}/kernel"}})


def join_streams(outputs: list[Any]) -> list[Any]:
    """Return `outputs` with printed text in one piece; messages such as "Compiling" are dropped."""
    joined: list[Any] = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr":
                continue
            if joined and joined[-1].output_type == "stream":
                joined[-1].text += output.text
                continue
        elif output.output_type == "execute_result":
            output.execution_count = None
        joined.append(output)
    return joined


def main() -> None:
    """Execute the notebooks that the arguments name, or all, and store them."""
    for path in [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(
        FOLDER.glob("*.ipynb")
    ):
        nbformat.write(execute(path), path)
        print(path.name)


if __name__ == "__main__":
    main()
