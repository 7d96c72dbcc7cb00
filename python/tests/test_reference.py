"""Every public name has a docstring, and its example runs: `_omr.pyi` is what editors and the reference show."""

import ast
import doctest
import inspect

import pytest

import omr
import omr.errors
from conftest import ROOT, TINY
from omr import pdq

STUB = ROOT / "python" / "src" / "omr" / "_omr.pyi"
ITEMS = {item.name: item for item in ast.parse(STUB.read_text()).body if hasattr(item, "name")}
CLASSES = [name for name in omr.__all__ if name in ITEMS]
QUERIES = pdq.__all__
AT_A_SERVER = {"BoardInfo", "Client", "InboxLetter", "Kept", "Canary", "Taken", "Waiting", "Watch", "Inbox", "Server"}


def documented(item):
    """The functions of a class that need a docstring: not those that Python's own syntax calls."""
    members = [] if isinstance(item, ast.FunctionDef) else item.body
    public = [one for one in members if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    return [item, *public]


def test_every_public_name_has_a_docstring():
    assert len(CLASSES) > 25 and len(QUERIES) == 7
    names = [item for item in ITEMS.values() if not item.name.startswith("_")]
    lacking = [(item.name, one.name) for item in names for one in documented(item) if not ast.get_docstring(one)]
    assert lacking == []
    stated = [*CLASSES, "__version__", *omr.errors.__all__]
    assert sorted(stated) == sorted(omr.__all__)
    for name in omr.errors.__all__:
        assert inspect.getdoc(getattr(omr, name)) and "__doc__" in vars(getattr(omr, name)), name
    for module in [omr, omr.errors, pdq]:
        assert inspect.getdoc(module)


def text(docstring):
    """The words of a docstring before its example."""
    return " ".join(docstring.partition(">>>")[0].split())


def test_help_shows_the_same_docstrings():
    for name in [*CLASSES, *QUERIES, "Leases", "Maker", "Unit"]:
        item = ITEMS[name]
        # Private queries are a module of their own in a release.
        compiled = getattr(pdq if name in QUERIES else omr._omr, name)
        for one in documented(item):
            found = compiled if one is item else getattr(compiled, one.name)
            assert text(found.__doc__) == text(ast.get_docstring(one)), (name, one.name)


def run(name, values, capsys):
    """Runs the example of a public name."""
    text = ast.get_docstring(ITEMS[name])
    example = doctest.DocTestParser().get_doctest(text, values, name, str(STUB), 0)
    assert example.examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example)
    assert runner.summarize().failed == 0, capsys.readouterr().out


@pytest.fixture
def values(tmp_path, monkeypatch):
    """What the examples have beside the module: a recipient, a board with two letters to her, their digest."""
    monkeypatch.chdir(tmp_path)
    alice = omr.Identity.generate(TINY)
    with omr.Board.create("board", params=TINY) as board:
        board.post(alice.address, b"hello", name="a.txt")
        board.post(alice.address, b"again")
        digest = omr.Detector(alice.detection_key()).digest(board, bound=10)
        yield {"omr": omr, "pdq": pdq, "alice": alice, "board": board, "digest": digest}


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in AT_A_SERVER])
def test_the_examples_run(name, values, capsys, carol):
    if name in ("FetchQuery", "FetchAnswer"):
        values["board"].post_many((values["alice"].address, b"%d" % i) for i in range(600))
        values["rounds"] = omr.Detector(values["alice"].detection_key("two-rounds"))
        values["scan"] = values["rounds"].scan(values["board"])
    if name == "Session":
        values["hybrid"] = carol
        with omr.Board.create("hybrid", params=carol.params) as values["board"]:
            values["board"].post_many((carol.address, data) for data in [b"hello", b"again"])
            run(name, values, capsys)
    else:
        run(name, values, capsys)


@pytest.mark.parametrize("name", [name for name in CLASSES if name in AT_A_SERVER])
def test_the_examples_at_a_server_run(name, values, capsys, url):
    with omr.Inbox.create("me", url) as inbox:
        run(name, values | {"url": url, "inbox": inbox}, capsys)


@pytest.mark.parametrize("name", QUERIES)
def test_the_examples_of_private_queries_run(name, values, capsys, request):
    with open("cities.csv", "w") as file:
        file.write("city,people\nBern,137000\nZug,31000\n")
    table, keys = pdq.Table.from_csv("cities.csv"), pdq.Keys.generate("insecure-tiny-pdq-v1")
    values |= {"table": table, "keys": keys}
    if name in AT_A_SERVER:
        table.save("cities.table")
        serve = request.getfixturevalue("serve")
        values["tables"] = serve("pdq", "serve", "cities.table", "--params", "insecure-tiny-pdq-v1")
    run(name, values, capsys)
