//! What statements say to PostgreSQL and to MySQL alike.

/// The condition that a column has at most `FILE_BYTES_MAX` bytes. Larger values are not
/// fetched from the server.
macro_rules! is_short {
    ($column:literal) => {
        concat!("octet_length(", $column, ") <= 104857600")
    };
}

pub(crate) use is_short;

#[cfg(test)]
mod tests {
    use crate::limits::FILE_BYTES_MAX;

    #[test]
    fn what_is_fetched_is_what_may_be_read() {
        let expected = format!("octet_length(data) <= {FILE_BYTES_MAX}");
        assert_eq!(is_short!("data"), expected);
    }
}
