/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing is known.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Days since 1970-01-01.
    Date(i64),
    /// Seconds since 1970-01-01T00:00:00, without a time zone.
    Timestamp(i64),
    /// A whole number of the column's last decimal place: 12.50 with two places is 1250.
    Decimal(i64),
    /// At most 64 bytes.
    Text(String),
}
