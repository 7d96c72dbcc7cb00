"""The code of the documentation runs and prints what is said there."""

import doctest
import os
import re
import subprocess
import sys

import omr
from conftest import ROOT

PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
URL = "https://omr.example:7600"
WATCH = "    for letter in inbox.watch(every=60):"
READ = "        inbox.mark_read(letter)\n"


def test_the_page_runs_from_top_to_bottom(tmp_path, url):
    text = PAGE.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == 11
    # The page takes as given: a token, and bob, who has an inbox and has written when the watch begins.
    bob = f"""
import omr, pathlib
token = None
omr.Inbox.create("bob", "{url}").close()
bob = omr.Inbox.open("bob")
pathlib.Path("bob.addr").write_text(bob.address)
"""
    wrote = '    bob.send(inbox.address, b"hello ann")\n'
    assert text.count(URL) == 4 and text.count(WATCH) == text.count(READ) == 1
    program = "".join([bob, *blocks]).replace(URL, url)
    program = program.replace(WATCH, wrote + WATCH.replace("60", "1")).replace(READ, READ + "        break\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 letter.txt b'hello Alice'",
        "[range(1, 2), range(2, 3)] 2 [612, 612]",
        "0..3 hold 3 letters, and the bound is 1",
        "103 messages, 103 letters now or later",
        "1 1",
        "None b'hello ann'",
        "b'hello ann' None 0",
        "True True",
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


def test_the_front_page_runs(capsys):
    exec(BLOCK.search((ROOT / "python" / "README.md").read_text()).group(1), {})
    assert capsys.readouterr().out == "[b'hello Alice']\n"


def test_the_package_has_a_version():
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", omr.__version__)
