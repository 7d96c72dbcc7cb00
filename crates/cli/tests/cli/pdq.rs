//! Private database queries by the command, in one process and step by step.

use crate::common::{Done, Scene, words};
use crate::keys::at_a_terminal;

const PARAMS: &str = "insecure-tiny-pdq-v1";

/// Returns a CSV file of 1,500 people, which fill two blocks of the tiny set.
fn people() -> String {
    let mut csv = String::from("id,name,age,state,joined\n");
    for i in 0..1500u32 {
        let state = ["NY", "CA", "TX", "WA", ""][(i % 5) as usize];
        let (age, day) = (i * 7 % 100, 1 + i % 28);
        csv += &format!(
            "{},person {},{age},{state},2020-03-{day:02}\n",
            1000 + i,
            i % 700
        );
    }
    csv
}

/// Returns a folder with a table, its schema and alice's keys.
fn scene() -> Scene {
    let scene = Scene::empty();
    scene.write("people.csv", people().as_bytes());
    scene
        .run(&["pdq", "import", "people.csv", "--out", "people.table"])
        .quietly();
    let schema = ["pdq", "schema", "people.table", "--out", "people.json"];
    scene.run(&schema).quietly();
    keygen(&scene, "alice");
    scene
}

fn keygen(scene: &Scene, name: &str) {
    scene
        .run(&["pdq", "keygen", "--out", name, "--params", PARAMS])
        .quietly();
}

fn encrypt(scene: &Scene, sql: &str) -> Done {
    let args = ["-q", "pdq", "encrypt", sql, "--schema", "people.json"];
    scene.run(&[&args[..], &["--key", "alice", "--out", "q", "--force"]].concat())
}

fn answer(scene: &Scene, key: &str, table: &str) -> Done {
    let args = ["pdq", "answer", table, "--evaluation-key", key];
    scene.run(&[&args[..], &["--query", "q", "--out", "a", "--force"]].concat())
}

fn decode(scene: &Scene, key: &str, schema: &str, more: &[&str]) -> Done {
    let args = ["pdq", "decode", "--schema", schema, "--key", key];
    let files = ["--query", "q", "--answer", "a"];
    scene.run(&[&args[..], &files, more].concat())
}

/// Runs a quiet query of the local table.
fn query(scene: &Scene, sql: &str, more: &[&str]) -> Done {
    let args = ["-q", "pdq", "query", sql, "--table", "people.table"];
    scene.run(&[&args[..], &["--key", "alice"], more].concat())
}

#[test]
fn import_prints_columns_and_domains() {
    let scene = Scene::empty();
    scene.write("people.csv", people().as_bytes());
    let args = ["pdq", "import", "people.csv", "--out", "t", "--json"];
    let more = words("--name folk --columns age,name --type name:text(20)");
    let report = scene.run(&[&args[..], &more].concat()).json();
    assert_eq!(
        (&report["name"], &report["rows"]),
        (&"folk".into(), &1500.into())
    );
    let age = &report["columns"][0];
    assert_eq!(age["name"], "age");
    assert_eq!(age["domain"], serde_json::json!({"min": 0, "max": 99}));
    assert_eq!(report["columns"][1]["kind"]["text"]["max_bytes"], 20);
    scene.run(&args).refused(1, &["t exists", "--force"]);
    let text = scene.run(&["pdq", "import", "people.csv", "--out", "u"]);
    let text = text.quietly();
    assert!(text.starts_with("people: 1,500 rows, "), "{text}");
    assert!(text.contains("2020-03-01 to 2020-03-28"), "{text}");
    assert!(
        text.lines()
            .any(|line| line.contains("state") && line.ends_with("may be absent"))
    );
    let long = words("pdq import people.csv --out v --type name:text(6)");
    scene
        .run(&long)
        .refused(1, &["people.csv", "\"name\"", "truncate"]);
    let cut = scene.run(&[&long[..], &["--truncate"]].concat());
    assert_eq!(cut.code, 0, "{cut:?}");
    let told = "column \"name\": 1500 values were cut to 6 bytes, the first in row 0";
    assert!(cut.stderr.contains(told), "{cut:?}");
}

#[test]
fn keys_are_made_with_private_permissions() {
    let scene = scene();
    assert_eq!(
        scene.list("alice"),
        ["pdq-evaluation.key", "pdq-secret.key"]
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for key in ["alice/pdq-secret.key", "alice/pdq-evaluation.key"] {
            let found = std::fs::metadata(scene.path(key)).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o600, "{key}");
        }
    }
    let again = ["pdq", "keygen", "--out", "alice", "--params", PARAMS];
    scene.run(&again).refused(1, &["exists", "--force"]);
    scene
        .run(&["pdq", "keygen", "--out", "bob", "--params", "pdq-v9"])
        .refused(1, &["pdq-v1", "pdq-v9"]);
}

#[test]
fn a_secret_under_a_passphrase_asks_for_it() {
    let scene = scene();
    scene.write("right", b"correct horse");
    scene.write("wrong", b"incorrect horse");
    let locked = ["--passphrase-file", "right"];
    let keygen = [
        "pdq", "keygen", "--out", "alice", "--force", "--params", PARAMS,
    ];
    scene.run(&[&keygen[..], &locked].concat()).quietly();
    let sql = "SELECT id FROM people WHERE id = 1003";
    encrypt(&scene, sql).refused(1, &["alice/pdq-secret.key", "expected its passphrase"]);
    let wrong = ["--passphrase-file", "wrong"];
    query(&scene, sql, &wrong).refused(1, &["alice/pdq-secret.key", "the passphrase is wrong"]);
    let found = query(&scene, sql, &[&locked[..], &["--format", "csv"]].concat()).quietly();
    assert!(found.ends_with(",1003\n"), "{found}");
}

#[test]
fn a_plan_shows_the_server_s_view_and_the_costs() {
    let scene = scene();
    let sql = "SELECT name FROM people WHERE state IN ('NY','CA') AND age BETWEEN 3 AND 17 LIMIT 7";
    let args = [
        "pdq",
        "plan",
        sql,
        "--schema",
        "people.json",
        "--params",
        PARAMS,
    ];
    let text = scene.run(&args).quietly();
    for part in [
        "SELECT name FROM people WHERE state IN (?, ?) AND (age BETWEEN ? AND ?)",
        "bound 7 rows: 1,500 rows in 2 blocks of 1,024",
        "state, by fingerprint: ",
        "age, by value: ",
        " of 6",
        "bytes up",
    ] {
        assert!(text.contains(part), "{part:?} not in {text}");
    }
    assert!(!text.contains("NY"), "{text}");
    let report = scene
        .run(&[&args[..], &["--json", "--bound", "9"]].concat())
        .json();
    assert_eq!(
        (&report["bound"], &report["blocks"]),
        (&9.into(), &2.into())
    );
    assert!(report["transforms"].as_u64().unwrap() > 100);
    assert!(report["seconds_of_one_thread"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_query_in_one_go_in_every_form() {
    let scene = scene();
    let sql = "SELECT id, name, joined FROM people WHERE id IN (1003, 2007, 77)";
    let told = scene.run(&[
        "pdq",
        "query",
        sql,
        "--table",
        "people.table",
        "--params",
        PARAMS,
    ]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.stderr
            .contains("the server sees: SELECT id, name, joined FROM people WHERE id IN (?, ?, ?)")
    );
    let text = "row   id    name        joined\n\
                3     1003  person 3    2020-03-04\n\
                1007  2007  person 307  2020-03-28\n";
    assert_eq!(String::from_utf8(told.stdout).unwrap(), text);
    let csv = query(&scene, sql, &["--format", "csv"]).quietly();
    assert_eq!(
        csv,
        "row,id,name,joined\n3,1003,person 3,2020-03-04\n1007,2007,person 307,2020-03-28\n"
    );
    let json = query(&scene, sql, &["--format", "json"]).json();
    assert_eq!(json[1]["name"], "person 307");
    let figures = query(
        &scene,
        sql,
        &["--format", "arrow", "--out", "rows.arrow", "--json"],
    )
    .json();
    assert_eq!(
        (&figures["rows"], &figures["bound"]),
        (&2.into(), &16.into())
    );
    assert!(figures["query_bytes"].as_u64().unwrap() > 1000);
    assert!(scene.read("rows.arrow").starts_with(b"ARROW1"));
    let again = query(&scene, sql, &["--out", "rows.arrow"]);
    again.refused(1, &["omr: rows.arrow exists: pass --force"]);
    let none = query(
        &scene,
        "SELECT id FROM people WHERE id = 5",
        &["--format", "csv"],
    );
    assert_eq!(none.quietly(), "row,id\n");
}

#[test]
fn too_many_rows_and_wrong_queries() {
    let scene = scene();
    // Ages are i * 7 mod 100, so each occurs 15 times.
    let sql = "SELECT id FROM people WHERE age = 21";
    let refused = query(&scene, sql, &["--bound", "4"]);
    refused.refused(3, &["15 rows match", "holds 4", "--bound 15"]);
    query(&scene, &format!("{sql} LIMIT 14"), &[]).refused(3, &["15 rows match"]);
    let rows = query(&scene, sql, &["--bound", "15", "--format", "csv"]).quietly();
    assert_eq!(rows.lines().count(), 16);
    query(&scene, sql, &["--bound", "0"]).refused(1, &["bound of 1 to", "found 0"]);
    for (sql, text) in [
        ("SELECT id FROM folk WHERE age = 21", "no table `folk`"),
        (
            "SELECT id FROM people WHERE stat = 'NY'",
            "did you mean `state`",
        ),
        (
            "SELECT id FROM people WHERE zip = 1",
            "there is no column `zip`: the table has `id`, `name`, ",
        ),
        ("SELECT id FROM people", "WHERE"),
        ("DROP TABLE people", "SQL"),
    ] {
        query(&scene, sql, &[]).refused(1, &[text]);
    }
}

/// For a file of another kind, the error names the command that makes the right one.
#[test]
fn files_of_another_kind() {
    let scene = scene();
    let expected = ["expected a schema", "`omr pdq schema TABLE --out FILE`"];
    for file in ["people.table", "people.csv"] {
        let args = ["pdq", "plan", "--schema", file, "SELECT id FROM people"];
        scene
            .run(&args)
            .refused(1, &[&expected[..], &[file]].concat());
    }
    let serve = ["pdq", "serve", "people.csv", "--anonymous"];
    let expected = ["not a table", "\"OMRTABLE\"", "an import of CSV"];
    scene.run(&serve).refused(1, &expected);
    let sql = "SELECT id FROM people WHERE age = 21";
    let key = ["--key", "alice/pdq-secret.key"];
    let asked = ["pdq", "query", sql, "--table", "people.table"];
    scene
        .run(&[&asked[..], &key].concat())
        .refused(1, &["alice/pdq-secret.key: expected the folder", "keygen"]);
    // Without a table or a server, the error names both options.
    let nowhere = scene.run(&["pdq", "query", sql]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    assert!(
        nowhere.stderr.contains("--table <TABLE>|--url <URL>"),
        "{nowhere:?}"
    );
}

#[test]
fn a_query_in_steps() {
    let scene = scene();
    let sql = "SELECT name, age FROM people WHERE name LIKE 'person 69_' AND age < 50";
    encrypt(&scene, sql).quietly();
    assert!(
        !scene
            .read("q")
            .windows(9)
            .any(|bytes| bytes == b"person 69")
    );
    answer(&scene, "alice/pdq-evaluation.key", "people.table").quietly();
    let csv = decode(&scene, "alice", "people.json", &["--format", "csv"]).quietly();
    let expected = (0..1500u32).filter(|i| i % 700 / 10 == 69 && i * 7 % 100 < 50);
    let expected: String = expected
        .map(|i| format!("{i},person {},{}\n", i % 700, i * 7 % 100))
        .collect();
    assert!(expected.lines().count() > 3);
    assert_eq!(csv, format!("row,name,age\n{expected}"));
}

#[test]
fn keys_tables_and_schemas_of_others() {
    let scene = scene();
    keygen(&scene, "bob");
    encrypt(&scene, "SELECT id FROM people WHERE id = 1003").quietly();
    answer(&scene, "bob/pdq-evaluation.key", "people.table")
        .refused(1, &["expected a query under key"]);
    // A second import of these rows has another salt.
    scene
        .run(&["pdq", "import", "people.csv", "--out", "other.table"])
        .quietly();
    let other = ["pdq", "schema", "other.table", "--out", "other.json"];
    scene.run(&other).quietly();
    answer(&scene, "alice/pdq-evaluation.key", "other.table")
        .refused(1, &["fingerprint", "fetch the schema again"]);
    answer(&scene, "alice/pdq-evaluation.key", "people.table").quietly();
    decode(&scene, "bob", "people.json", &[]).refused(1, &["expected an answer under key"]);
    decode(&scene, "alice", "other.json", &[]).refused(1, &["fingerprint"]);
    answer(&scene, "alice/pdq-secret.key", "people.table").refused(1, &["pdq-secret.key"]);
    let deep = words("pdq keygen --out deep --params insecure-tiny-pdq-deep-v1");
    scene.run(&deep).quietly();
    answer(&scene, "deep/pdq-evaluation.key", "people.table")
        .refused(1, &["insecure-tiny-pdq-deep-v1"]);
}

#[test]
fn damaged_files() {
    let scene = scene();
    encrypt(&scene, "SELECT id FROM people WHERE id = 1003").quietly();
    answer(&scene, "alice/pdq-evaluation.key", "people.table").quietly();
    let key = "alice/pdq-evaluation.key";
    let step = |file: &str| match file {
        "a" | "people.json" | "alice/pdq-secret.key" => decode(&scene, "alice", "people.json", &[]),
        _ => answer(&scene, key, "people.table"),
    };
    for file in [
        "people.table",
        "people.json",
        key,
        "alice/pdq-secret.key",
        "q",
        "a",
    ] {
        let whole = scene.read(file);
        let mut cases = vec![Vec::new(), whole[..whole.len() / 2].to_vec()];
        let mut longer = whole.clone();
        longer.push(b'x');
        cases.push(longer);
        for at in [0, whole.len() / 3, whole.len() - 3] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x40;
            // A schema is text; parts of it, such as a name, may be changed.
            cases.push(flipped);
        }
        for (i, case) in cases.iter().enumerate() {
            scene.write(file, case);
            let done = step(file);
            assert_eq!(done.code, 1, "{file} {i} {done:?}");
            assert!(
                !done.stderr.contains("internal error"),
                "{file} {i} {done:?}"
            );
        }
        scene.write(file, &whole);
    }
    step("a").quietly();
}

#[test]
fn a_table_that_its_server_cannot_read() {
    let scene = scene();
    let encrypt = ["pdq", "encrypt-table", "people.table", "--key", "alice"];
    let report = scene
        .run(&[&encrypt[..], &["--out", "e", "--prefixes", "8", "--json"]].concat())
        .json();
    assert_eq!(
        (&report["rows"], &report["radix"]),
        (&1500.into(), &4.into())
    );
    scene
        .run(&[&encrypt[..], &["--out", "e"]].concat())
        .refused(1, &["e exists", "--force"]);
    let ask = |sql: &str, table: &str, key: &str| {
        let args = ["-q", "pdq", "query", sql, "--table", table];
        scene.run(&[&args[..], &["--key", key, "--format", "csv"]].concat())
    };
    for sql in [
        "SELECT id, age FROM people WHERE id BETWEEN 1003 AND 1009 AND NOT age = 21",
        "SELECT id FROM people WHERE name LIKE 'person 3%' AND state IS NULL LIMIT 64",
    ] {
        let (clear, encrypted) = (ask(sql, "people.table", "alice"), ask(sql, "e", "alice"));
        assert_eq!(clear.quietly(), encrypted.quietly(), "{sql}");
    }
    // A table without masks for this pattern; another client's keys; a schema for the other kind of table.
    let middle = "SELECT id FROM people WHERE name LIKE '%son%'";
    ask(middle, "e", "alice").refused(1, &["column name", "pattern"]);
    keygen(&scene, "bob");
    let equal = "SELECT id FROM people WHERE id = 1003";
    ask(equal, "e", "bob").refused(1, &["key"]);
    let public = scene.run(&["pdq", "schema", "e"]).quietly();
    assert!(public.contains("\"indexed\""), "{public}");
    scene.write("cut", &scene.read("e")[..1000]);
    ask(equal, "cut", "alice").refused(1, &["cut", "ends after 1000"]);
}

#[test]
fn two_sided_answers_come_without_row_numbers() {
    let scene = scene();
    let set = ["--params", "insecure-tiny-pdq-two-sided-v1"];
    scene
        .run(&[&["pdq", "keygen", "--out", "carol"], &set[..]].concat())
        .quietly();
    let sql = "SELECT id, name FROM people WHERE id IN (1003, 1450)";
    let args = ["-q", "pdq", "query", sql, "--table", "people.table"];
    let rows = scene.run(&[&args[..], &["--key", "carol", "--format", "json"]].concat());
    let mut rows = rows.json();
    let rows = rows.as_array_mut().expect("rows");
    rows.sort_by_key(|row| row["id"].as_i64());
    assert_eq!(
        *rows,
        [
            serde_json::json!({"id": 1003, "name": "person 3"}),
            serde_json::json!({"id": 1450, "name": "person 450"})
        ]
    );
}

#[test]
fn dates_in_another_form_and_comparisons_with_null_are_warned_of() {
    let scene = Scene::empty();
    scene.write("t.csv", b"id,day\n1,2012/01/31\n2,2013/02/28\n");
    let import = scene.run(&["pdq", "import", "t.csv", "--out", "t"]);
    assert_eq!(import.code, 0, "{import:?}");
    let warning = "omr: warning: column \"day\" is text, which has no order to ask for: row 0, counted from 0, has \
                   \"2012/01/31\", expected a date such as 2012-12-31";
    assert!(import.stderr.starts_with(warning), "{import:?}");
    let schema = ["pdq", "schema", "t", "--out", "t.json"];
    scene.run(&schema).quietly();
    let query = [
        "-q",
        "pdq",
        "query",
        "SELECT id FROM t WHERE id = NULL",
        "--table",
        "t",
    ];
    let asked = scene.run(&[&query[..], &["--params", PARAMS]].concat());
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(
        asked.stderr.contains("IS NULL finds absent values"),
        "{asked:?}"
    );
    let twice = [
        "-q",
        "pdq",
        "query",
        "SELECT id, id FROM t WHERE id = 1",
        "--table",
        "t",
    ];
    scene
        .run(&twice)
        .refused(1, &["column `id` is selected twice"]);
}

/// A server that has printed its address; stopped when dropped.
struct Server(std::process::Child, String);

impl Server {
    fn start(scene: &Scene, args: &[&str]) -> Self {
        use std::io::{BufRead, BufReader};
        let mut command = scene.command(args);
        command.stdout(std::process::Stdio::piped());
        let mut process = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("listening on ").unwrap();
        Self(process, url.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn odd_values_and_odd_files_are_reported() {
    let scene = Scene::empty();
    scene.write("na.csv", b"a\n1\nNA\n3\n");
    let import = scene.run(&["pdq", "import", "na.csv", "--out", "na.table"]);
    assert_eq!(import.code, 0, "{import:?}");
    assert!(
        import.stderr.contains("row 1, counted from 0, has \"NA\""),
        "{import:?}"
    );
    let declared = words("pdq import na.csv --out declared.table --type a:text");
    scene.run(&declared).quietly();
    let refused: [(&str, &[u8], &[&str]); 5] = [
        (
            "open.csv",
            b"id,name\n1,\"Ann\n2,Bob\n",
            &["open.csv: line 2: field 2", "closing quote"],
        ),
        ("semicolon.csv", b"a;b\n1;2\n", &["choose the delimiter"]),
        ("a.csv.gz", b"\x1F\x8B\x08\0", &["compressed by gzip"]),
        ("lines.json", b"{\"a\": 1}\n{\"a\": 2}\n", &["found JSON"]),
        (
            "book.xlsx",
            b"PK\x03\x04\x14\0[Content_Types].xml xl/workbook.xml",
            &["a spreadsheet"],
        ),
    ];
    for (name, bytes, texts) in refused {
        scene.write(name, bytes);
        scene
            .run(&["pdq", "import", name, "--out", "none"])
            .refused(1, texts);
    }
    let semicolon = words("pdq import semicolon.csv --out s.table --delimiter ; --json");
    let found = scene.run(&semicolon).json();
    assert_eq!(found["columns"][1]["name"], "b", "{found}");
    scene.write("comma.csv", b"\"x,y\",b\n1,2\n");
    let comma = [
        "pdq",
        "import",
        "comma.csv",
        "--out",
        "c.table",
        "--json",
        "--columns",
        "b,\"x,y\"",
    ];
    let found = scene.run(&comma).json();
    assert_eq!(found["columns"][1]["name"], "x,y", "{found}");
}

#[test]
fn tables_come_from_pipes() {
    let scene = Scene::empty();
    let csv = b"a,b\n1,x\n2,y\n";
    for (from, to) in [("-", "p.table"), ("/dev/stdin", "q.table")] {
        let args = ["pdq", "import", from, "--name", "t", "--out", to, "--json"];
        let found = scene.pipe(&args, csv).json();
        assert_eq!(
            (&found["name"], &found["rows"]),
            (&"t".into(), &2.into()),
            "{found}"
        );
    }
    let nameless = scene.pipe(&words("pdq import - --out r.table"), csv);
    nameless.refused(1, &["standard input", "--name"]);
    scene.write("t.csv", csv);
    scene
        .run(&words("pdq import t.csv --out -"))
        .refused(1, &["standard output"]);
}

#[test]
fn an_input_file_is_not_replaced() {
    let scene = scene();
    std::os::unix::fs::symlink("people.csv", scene.path("link.csv")).unwrap();
    for command in [
        "pdq import people.csv --out people.csv --force",
        "pdq import people.csv --out link.csv --force",
        "pdq import link.csv --out people.csv --force",
        "pdq schema people.table --out people.table --force",
        "pdq encrypt-table people.table --key alice --out people.table --force",
        "pdq encrypt-table people.table --key alice --out alice/pdq-secret.key --force",
        "pdq decode --schema people.json --key alice --query q --answer a --out alice/pdq-secret.key --force",
        "pdq answer people.table --evaluation-key alice/pdq-evaluation.key --query q --out people.table --force",
    ] {
        let names = ["people.csv", "people.table", "alice/pdq-secret.key"];
        let before = names.map(|name| std::fs::read(scene.path(name)).unwrap());
        scene.run(&words(command)).refused(1, &["is what is read"]);
        let after = names.map(|name| std::fs::read(scene.path(name)).unwrap());
        assert!(before == after, "{command}");
    }
}

#[test]
fn a_query_too_deep_names_a_set_that_plans_it() {
    let scene = scene();
    let sql = "SELECT id FROM people WHERE name LIKE '%a%' AND age > 1 AND state <> 'NY' AND id > 1001 AND joined < '2020-03-02'";
    let plan = |params| {
        scene.run(&[
            "pdq",
            "plan",
            "--schema",
            "people.json",
            sql,
            "--params",
            params,
        ])
    };
    plan(PARAMS).refused(
        1,
        &[
            "products one after another",
            "--params insecure-tiny-pdq-deep-v1",
        ],
    );
    assert_eq!(plan("insecure-tiny-pdq-deep-v1").code, 0);
}

#[test]
fn tables_have_a_port_and_a_folder_of_their_own() {
    let _ports = crate::common::ports();
    let scene = scene();
    let tables = Server::start(
        &scene,
        &words("pdq serve people.table --anonymous --params insecure-tiny-pdq-v1"),
    );
    assert_eq!(tables.1, "http://127.0.0.1:7601");
    assert!(scene.path("pdq-data").is_dir() && !scene.path("omr-data").exists());
    let sql = "SELECT id FROM people WHERE id = 1003";
    let ask = [
        "-q", "pdq", "query", sql, "--key", "alice", "--format", "csv", "--url",
    ];
    let rows = scene.run(&[&ask[..], &[&tables.1]].concat()).quietly();
    assert_eq!(rows, "row,id\n3,1003\n");
    let board = words("serve --anonymous --listen 127.0.0.1:0 --params insecure-tiny-v4");
    let board = Server::start(&scene, &board);
    let asked = scene.run(&[&ask[..], &[&board.1]].concat());
    asked.refused(1, &["serves no tables", "omr pdq serve", "7601"]);
}

#[test]
fn a_server_of_tables_runs_beside_one_of_a_board_by_the_packaged_configuration() {
    const PACKAGED: &str = include_str!("../../../../packaging/omr.toml");
    let _ports = crate::common::ports();
    let scene = scene();
    scene.write("omr.toml", PACKAGED.as_bytes());
    let own = words("--config omr.toml --data data --anonymous");
    let board = words("serve --params insecure-tiny-v4");
    let board = Server::start(&scene, &[&board[..], &own].concat());
    let tables = words("pdq serve people.table --params insecure-tiny-pdq-v1");
    let tables = Server::start(&scene, &[&tables[..], &own].concat());
    assert_eq!(board.1, "http://0.0.0.0:7600");
    assert_eq!(tables.1, "http://127.0.0.1:7601");
    for port in ["7600", "7601"] {
        let url = format!("http://127.0.0.1:{port}");
        assert_eq!(scene.run(&["health", &url]).quietly(), "serving\n");
    }
    let told = scene
        .run(&words("health --json http://127.0.0.1:7601"))
        .json();
    assert_eq!(
        told,
        serde_json::json!({"url": "http://127.0.0.1:7601", "serving": true})
    );
}

#[test]
fn rows_do_not_steer_a_terminal() {
    let scene = Scene::empty();
    let remark = "\u{1b}[2Jpay\u{202e}lap";
    let csv = format!("id,remark\n7,{remark}\n");
    scene.write("t.csv", csv.as_bytes());
    let import = ["pdq", "import", "t.csv", "--out", "t.table"];
    scene.run(&import).quietly();
    keygen(&scene, "alice");
    let sql = "SELECT remark FROM t WHERE id = 7";
    let args = ["-q", "pdq", "query", sql, "--table", "t.table"];
    let args = [&args[..], &["--key", "alice", "--format", "csv"]].concat();
    // A program receives the text unchanged.
    assert_eq!(
        scene.run(&args).quietly(),
        format!("row,remark\n0,{remark}\n")
    );
    for (format, expected) in [
        ("csv", "0,\u{fffd}[2Jpaylap"),
        ("table", "0    \u{fffd}[2Jpaylap"),
        ("json", "[2Jpaylap\"}]"),
    ] {
        let line = format!("-q pdq query '{sql}' --table t.table --key alice --format {format}");
        let (code, seen) = at_a_terminal(&scene, &line, &[]);
        assert_eq!(code, 0, "{seen}");
        assert!(seen.contains(expected), "{format}: {seen:?}");
        assert!(
            !seen.contains("\u{1b}[2J") && !seen.contains('\u{202e}'),
            "{seen:?}"
        );
    }
}
