//! Which paths the beacon `inotify` leaves out (`exclude`).

use std::path::Path;

use halite_call::python;
use halite_proto::Value;
use halite_target::glob::fnmatch;
use halite_target::pcre::Pcre;
use tracing::warn;

fn patterns(exclude: &Value) -> impl Iterator<Item = (String, bool)> {
    let items = exclude.as_list().unwrap_or_default();
    items.iter().filter_map(|item| match item {
        Value::Map(map) => {
            let (pattern, about) = map.iter().next()?;
            let is_regex = about.get("regex").is_some_and(Value::is_true);
            Some((python::str(pattern), is_regex))
        }
        other => Some((python::str(other), false)),
    })
}

/// Whether changes of a path are not reported.
pub(super) fn is_excluded(exclude: &Value, place: &str) -> bool {
    patterns(exclude).any(|(pattern, is_regex)| {
        if is_regex {
            return Pcre::searching(&pattern)
                .and_then(|pattern| pattern.is_in(place))
                .unwrap_or_else(|_| {
                    warn!("Failed to compile regex: {pattern}");
                    false
                });
        }
        match pattern.contains('*') {
            true => fnmatch(&pattern, place),
            false => place.starts_with(&pattern),
        }
    })
}

/// Whether a directory is not watched at all.
pub(super) fn is_left_out(exclude: &Value, place: &Path) -> bool {
    let place = place.display().to_string();
    patterns(exclude).any(|(pattern, _)| {
        Pcre::new(&pattern)
            .and_then(|pattern| pattern.matches_start(&place))
            .unwrap_or(false)
    })
}
