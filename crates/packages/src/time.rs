//! Times as the package tools' reports show them.

use halite_proto::time::Civil;

/// Unix seconds as `2026-11-20T10:00:00Z`; what is before 1970 is its first
/// second.
pub(crate) fn utc(seconds: i64) -> String {
    let micros = u64::try_from(seconds)
        .unwrap_or(0)
        .saturating_mul(1_000_000);
    let at = Civil::from_micros(micros);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        at.year, at.month, at.day, at.hour, at.minute, at.second
    )
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn seconds_become_dates() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_795_178_096), "2026-11-20T12:34:56Z");
    }
}
