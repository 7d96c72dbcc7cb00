"""The code of the documentation runs and prints what is said there."""

import doctest
import os
import re
import subprocess
import sys

import omr
from conftest import ROOT

PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"<!-- tested -->\n```python\n(.*?)```", re.DOTALL)


def test_the_page_runs_from_top_to_bottom(tmp_path):
    text = PAGE.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == text.count("```python") == 4
    done = subprocess.run(
        [sys.executable, "-c", "".join(blocks)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 letter.txt b'hello Alice'",
        "[range(1, 2), range(2, 3)] 2 [612, 612]",
        "0..3 hold 3 letters, and the bound is 1",
        "SELECT city FROM cities WHERE people >= ?",
        "['row,city', '0,Bern', '1,Genf']",
    ]


def test_the_page_names_every_class_of_errors():
    text = PAGE.read_text()
    for name in omr.__all__:
        if name.endswith("Error"):
            assert f"`{name}`" in text or f"omr.{name}" in text, name


def test_the_docstring_of_the_package_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(omr).failed == 0 and doctest.testmod(omr).attempted
    assert os.listdir(tmp_path) == []
