"""The notebook runs and prints what is kept in it."""

import nbclient
import nbformat

from conftest import ROOT

NOTEBOOK = ROOT / "python" / "notebooks" / "find.ipynb"


def printed(notebook):
    """What each cell printed, in however many pieces; pictures need not be the same to the byte and are left out."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    streams = [[output.get("text") for output in cell.outputs if output.output_type == "stream"] for cell in cells]
    return ["".join(texts) for texts in streams]


def test_the_notebook_prints_what_it_shows():
    kept = nbformat.read(NOTEBOOK, as_version=4)
    again = nbformat.from_dict(kept.copy())
    folder = {"metadata": {"path": NOTEBOOK.parent}}
    nbclient.NotebookClient(again, timeout=60, resources=folder).execute()
    assert printed(again) == printed(kept) and printed(kept)[-2] != ""
    pictures = [output for cell in again.cells for output in cell.get("outputs", []) if "data" in output]
    assert [sorted(picture.data) for picture in pictures] == [["image/svg+xml", "text/plain"]]
