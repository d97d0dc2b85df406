//! Holding packages at their version, one after the other: Salt's results.

use halite_call::Call;
use halite_proto::{Map, Value};

use super::error::PkgError;

/// What is said where there is nothing to do.
pub(crate) struct Wording {
    pub(crate) held_already: &'static str,
    pub(crate) free_already: &'static str,
}

/// Carries out `change` for each package that is not yet as wanted.
pub(crate) fn hold_each(
    call: &Call<'_>,
    hold: bool,
    names: &[String],
    held: &[String],
    wording: &Wording,
    mut change: impl FnMut(&str) -> Result<bool, PkgError>,
) -> Result<Map, PkgError> {
    let un = if hold { "" } else { "un" };
    let mut results = Map::new();
    for name in names {
        let (mut result, mut changes) = (Value::from(true), Map::new());
        let comment = if held.contains(name) == hold {
            let said = if hold {
                wording.held_already
            } else {
                wording.free_already
            };
            format!("Package {name} {said}")
        } else if call.is_test() {
            result = Value::Nil;
            format!("Package {name} is set to be {un}held.")
        } else if change(name)? {
            let (new, old) = if hold { ("hold", "") } else { ("", "hold") };
            changes = Map::from([("new", new), ("old", old)]);
            let now = if hold {
                "now being held"
            } else {
                "no longer held"
            };
            format!("Package {name} is {now}.")
        } else {
            result = false.into();
            format!("Package {name} was unable to be {un}held.")
        };
        let entry = Map::from([
            ("name", Value::from(name.as_str())),
            ("changes", changes.into()),
            ("result", result),
            ("comment", comment.into()),
        ]);
        results.insert(name.as_str(), entry);
    }
    Ok(results)
}
