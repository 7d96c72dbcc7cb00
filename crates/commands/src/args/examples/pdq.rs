//! Help of `omr pdq`.

/// What every query tells.
macro_rules! seen {
    () => {
        "The server sees columns, operators, how many constants a list has, lengths of patterns and the bound; no constant \
         and no row that matches. docs/pdq.md has the rest."
    };
}

pub(in crate::args) const PDQ: &str = concat!(
    "\
Examples:
  omr pdq import people.csv --out people.table
  omr pdq query --table people.table \\
    \"SELECT name FROM people WHERE state = 'NY' AND age > 90 LIMIT 20\"
  omr pdq serve people.table --anonymous  # at http://127.0.0.1:7601
  omr pdq query --url http://127.0.0.1:7601 \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

",
    seen!()
);

pub(in crate::args) const PDQ_IMPORT: &str = "\
Examples:
  omr pdq import people.csv --out people.table
  omr pdq import people.csv --out few.table --columns name,age
  omr pdq import people.csv --out typed.table --type 'name:text(32)'

CSV needs a header line; Parquet may be compressed by snappy, lz4 or zstd. Types are found out unless declared, and \
the table that is printed tells them: a column of dates in another form than 2012-12-31 is text.";

pub(in crate::args) const PDQ_SCHEMA: &str = "\
Examples:
  omr pdq schema people.table --out people.json
  omr pdq schema http://127.0.0.1:7601 --out served.json";

pub(in crate::args) const PDQ_KEYGEN: &str = "\
Examples:
  omr pdq keygen --out alice
  omr pdq keygen --out deep --params pdq-deep-v1
  omr pdq keygen --out bob --passphrase # pdq-secret.key under a passphrase

pdq-secret.key stays with the client, pdq-evaluation.key goes to the server. An existing key is replaced only with \
--force.";

pub(in crate::args) const PDQ_ENCRYPT_TABLE: &str = "\
Examples:
  omr pdq encrypt-table people.table --key alice --out people.encrypted \\
    --prefixes 3
  omr pdq query --table people.encrypted --key alice \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

The table that its server cannot read is asked with the keys that it was encrypted with.";

pub(in crate::args) const PDQ_PLAN: &str = concat!(
    "\
Examples:
  omr pdq plan --schema people.json \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

",
    seen!()
);

pub(in crate::args) const PDQ_QUERY: &str = concat!(
    "\
Examples:
  omr pdq query --table people.table \\
    \"SELECT name FROM people WHERE state = 'NY' AND age > 90 LIMIT 20\"
  omr pdq query --url http://127.0.0.1:7601 --key alice --format csv \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

LIMIT, or --bound, is what the answer has room for and cuts nothing off: more rows are an error with their true \
number and exit code 3. ",
    seen!()
);

pub(in crate::args) const PDQ_STEPS: &str = "\
Examples:
  omr pdq encrypt \"SELECT * FROM people WHERE age = 7\" \\
    --schema people.json --key alice --out q
  omr pdq answer people.table --evaluation-key alice/pdq-evaluation.key \\
    --query q --out a
  omr pdq decode --schema people.json --key alice --query q --answer a

The three steps of a query, with files between them; `omr pdq query` does all of them.";

pub(in crate::args) const PDQ_SERVE: &str = "\
Examples:
  omr pdq serve people.table --anonymous  # at http://127.0.0.1:7601
  omr pdq serve people.table --listen 127.0.0.1:0 --data other-data

With --anonymous anybody who reaches the address may ask; without it clients need tokens (omr token). Clients' keys \
lie in pdq-data.";
