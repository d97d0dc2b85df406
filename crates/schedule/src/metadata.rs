//! The additional data of a job's result.

use halite_proto::Map;
use jiff::Zoned;
use jiff::fmt::strtime::format;
use jiff::tz::TimeZone;

/// A job's metadata with the time of the run, as Salt adds it.
#[must_use]
pub fn stamped(mut metadata: Map, now: &Zoned) -> Map {
    let utc = now.with_time_zone(TimeZone::UTC);
    let form = |form: &str, at: &Zoned| format(form, at).unwrap_or_default();
    metadata.insert("_TOS", form("%z", now));
    metadata.insert("_TS", form("%a %b %e %H:%M:%S %Y", now));
    metadata.insert("_TT", form("%Y %B %d %a %H %m", &utc));
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_say_when_the_job_ran() {
        let moment = "2026-11-02T00:30:09+02:00[+02:00]".parse().unwrap();
        let stamped = stamped(Map::from([("who", "me")]), &moment);
        let expected = Map::from([
            ("who", "me"),
            ("_TOS", "+0200"),
            ("_TS", "Mon Nov  2 00:30:09 2026"),
            ("_TT", "2026 November 01 Sun 22 11"),
        ]);
        assert_eq!(stamped, expected);
    }
}
