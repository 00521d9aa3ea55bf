"""Every notebook runs from top to bottom. Needs the requirements of the notebooks, which only the full tier installs."""

import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"


def test_notebooks_are_found():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == {
        "bring_your_own_embeddings.ipynb",
        "inside_a_trained_model.ipynb",
        "reproduce_the_scaling.ipynb",
        "your_own_task_and_data.ipynb",
    }


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    figures = [output for cell in code for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(figures) >= 2
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
