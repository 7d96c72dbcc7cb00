"""Private queries: tables in, rows out, between libraries that know Arrow's interface and nothing of each other."""

import datetime
import decimal
import importlib
import json
import os
import subprocess
import sys

import nanoarrow
import pytest

import omr
from omr import pdq
from conftest import COMMAND, PROJECT, ROOT

TINY = "insecure-tiny-pdq-v1"
PEOPLE = ROOT / "examples" / "people.csv"


@pytest.fixture(scope="module")
def keys():
    return pdq.Keys.generate(TINY)


@pytest.fixture(scope="module")
def evaluation_key(keys):
    return keys.evaluation_key()


@pytest.fixture(scope="module")
def people():
    return pdq.Table.from_csv(PEOPLE)


def ask(table, keys, key, sql, **options):
    query = keys.query(table.schema, sql, **options)
    return query.rows(table.answer(bytes(query), key))


def batch():
    """All types that a table has, with what is absent."""
    columns = {
        "name": nanoarrow.c_array(["Ann", None, "Bärbel"], nanoarrow.string()),
        "long": nanoarrow.c_array(["x", "y", None], nanoarrow.large_string()),
        "age": nanoarrow.c_array([3, -200, None], nanoarrow.int16()),
        "size": nanoarrow.c_array([0.5, 12.25, None], nanoarrow.float64()),
        "good": nanoarrow.c_array([True, False, None], nanoarrow.bool_()),
        "born": nanoarrow.c_array([15705, -1, None], nanoarrow.date32()),
        "seen": nanoarrow.c_array([1767323045000, None, None], nanoarrow.timestamp("ms", "UTC")),
    }
    struct = nanoarrow.struct({name: column.schema for name, column in columns.items()})
    return nanoarrow.c_array_from_buffers(struct, 3, [None], children=list(columns.values()))


def test_all_that_a_table_takes_comes_back(keys, evaluation_key):
    for data in [batch(), nanoarrow.ArrayStream(batch())]:
        table = pdq.Table.from_arrow(data, "things", types={"size": "decimal(3)"})
        assert table.schema.columns == {
            "name": "text(7)",
            "long": "text(1)",
            "age": "integer",
            "size": "decimal(3)",
            "good": "boolean",
            "born": "date",
            "seen": "timestamp",
        }
        rows = ask(table, keys, evaluation_key, "SELECT * FROM things WHERE age < 100")
        assert len(rows) == 2 and rows.numbers == [0, 1]
        read = nanoarrow.Array(rows).to_pylist()
        assert [row["name"] for row in read] == ["Ann", None]
        assert [row["age"] for row in read] == [3, -200]
        assert [row["size"] for row in read] == [decimal.Decimal("0.500"), decimal.Decimal("12.250")]
        assert [row["good"] for row in read] == [True, False]
        assert [row["born"] for row in read] == [datetime.date(2012, 12, 31), datetime.date(1969, 12, 31)]
        assert [row["seen"] for row in read] == [datetime.datetime(2026, 1, 2, 3, 4, 5), None]
        assert [row["row"] for row in read] == [0, 1]


def test_csv_the_command_and_the_package_agree(keys, evaluation_key, people, tmp_path):
    sql = "SELECT name, age FROM people WHERE state = 'NY' AND age > 40 LIMIT 64"
    rows = ask(people, keys, evaluation_key, sql)
    assert rows.columns == ["name", "age"] and len(json.loads(rows.to_json())) == len(rows) > 0
    people.save(tmp_path / "people.table")
    again = pdq.Table.load(tmp_path / "people.table")
    assert bytes(again.schema) == bytes(people.schema) and len(again) == len(people)
    schema = pdq.Schema.from_bytes(bytes(people.schema))
    keys.save(tmp_path / "keys", plain=True)
    query = pdq.Keys.load(tmp_path / "keys").query(schema, sql)
    (tmp_path / "query").write_bytes(bytes(query))
    if COMMAND:
        key = tmp_path / "keys" / "pdq-evaluation.key"
        command = [COMMAND, "pdq", "answer", tmp_path / "people.table", "--query", tmp_path / "query"]
        subprocess.run([*command, "--evaluation-key", key, "--out", tmp_path / "answer"], check=True, timeout=120)
        found = pdq.Query.from_bytes(keys, schema, tmp_path / "query").rows(tmp_path / "answer")
        assert found.to_csv() == rows.to_csv()
    assert query.shape.startswith("SELECT name, age FROM people WHERE") and "NY" not in query.shape
    assert 0 < len(people.answer(bytes(query), evaluation_key)) - query.answer_bytes < 200


def test_tables_that_nobody_else_can_read(keys, evaluation_key, people, tmp_path):
    told = []
    hidden = keys.encrypt_table(people, progress=lambda *news: told.append(news))
    assert hidden.encrypted and told[-1][0] == "encrypt"
    hidden.save(tmp_path / "hidden")
    rows = ask(pdq.Table.load(tmp_path / "hidden"), keys, evaluation_key, "SELECT name FROM people WHERE state = 'NY' LIMIT 64")
    clear = ask(people, keys, evaluation_key, "SELECT name FROM people WHERE state = 'NY' LIMIT 64")
    assert rows.to_csv() == clear.to_csv()


def test_a_server_answers(serve, keys, people, tmp_path):
    people.save(tmp_path / "people.table")
    server = pdq.Server(serve("pdq", "serve", tmp_path / "people.table", "--params", TINY))
    assert server.tables() == ["people"]
    schema = server.schema("people")
    keys.save(tmp_path / "keys", plain=True)
    key = server.register(tmp_path / "keys" / "pdq-evaluation.key")
    query = keys.query(schema, "SELECT name FROM people WHERE age > 85 LIMIT 64")
    told = []
    rows = server.ask(keys, query, key=key, progress=lambda *news: told.append(news))
    assert len(rows) > 0 and told
    assert server.ask(keys, query).to_csv() == rows.to_csv()


def test_errors_by_kind(keys, evaluation_key, people, tmp_path):
    with pytest.raises(omr.RowsOverflowError) as error:
        ask(people, keys, evaluation_key, "SELECT name FROM people WHERE age > 0", bound=1)
    assert error.value.bound == 1 < error.value.count
    for sql in ["SELECT", "SELECT nothing FROM people", "SELECT * FROM other", "SELECT * FROM people LIMIT 100000"]:
        with pytest.raises(omr.QueryError):
            keys.query(people.schema, sql)
    with pytest.raises(omr.ParamsError):
        pdq.Keys.generate("pdq-v99")
    with pytest.raises(omr.OtherKeyError):
        query = keys.query(people.schema, "SELECT name FROM people WHERE age > 40")
        people.answer(bytes(query), pdq.Keys.generate(TINY).evaluation_key())
    with pytest.raises(omr.FileError):
        people.answer(b"no query", evaluation_key)
    with pytest.raises(FileNotFoundError):
        pdq.Table.from_csv(tmp_path / "nothing.csv")
    with pytest.raises(FileNotFoundError):
        pdq.Table.load(tmp_path / "nothing")
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        pdq.Table.from_arrow([1, 2], "numbers")
    with pytest.raises(omr.TableError, match="expected a table, found Int"):
        pdq.Table.from_arrow(nanoarrow.c_array([1, 2], nanoarrow.int32()), "numbers")
    with pytest.raises(omr.TableError):
        pdq.Table.from_arrow(batch(), "things", types={"name": "integer"})
    with pytest.raises(omr.TableError):
        pdq.Table.from_csv(PEOPLE, columns=["nobody"])
    with pytest.raises(ValueError, match="one character"):
        pdq.Table.from_csv(PEOPLE, delimiter="--")


@pytest.mark.skipif(not os.environ.get("OMR_FRAMES"), reason="OMR_FRAMES asks for the large libraries of data frames")
def test_data_frames_of_others(keys, evaluation_key):
    import duckdb
    import pandas
    import polars
    import pyarrow

    rows = {"city": ["Bern", "Genf", "Zug"], "people": [137000, 206000, 31000]}
    frame = polars.DataFrame(rows)
    sources = [
        frame,
        frame.with_columns(polars.col("city").cast(polars.Categorical)),
        pyarrow.table(rows),
        pyarrow.table(rows).to_batches()[0],
        pyarrow.table({**rows, "city": pyarrow.array(rows["city"]).dictionary_encode()}),
        pandas.DataFrame(rows),
        duckdb.sql("SELECT * FROM frame"),
    ]
    for source in sources:
        table = pdq.Table.from_arrow(source, "cities")
        found = ask(table, keys, evaluation_key, "SELECT city, people FROM cities WHERE people > 100000")
        expected = {"row": [0, 1], "city": ["Bern", "Genf"], "people": [137000, 206000]}
        assert polars.DataFrame(found).to_dict(as_series=False) == expected
        assert pyarrow.table(found).to_pydict() == expected
        assert pandas.DataFrame.from_arrow(found).to_dict("list") == expected
        assert duckdb.sql("SELECT sum(people) FROM found").fetchall() == [(343000,)]


def test_without_their_wheel_an_error_says_which_one_is_missing(monkeypatch):
    # None: no such module.
    for module in ["omr_pdq", "omr_pdq._omr"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delattr("omr._omr.Keys", raising=False)
    monkeypatch.delitem(sys.modules, "omr.pdq")
    needs = PROJECT["optional-dependencies"]["pdq"][0].split("==")[0]
    with pytest.raises(ImportError, match=rf"expected the package {needs}, .* {needs.replace('-', '_')}-\*\.whl"):
        importlib.import_module("omr.pdq")
