//! `salt_version.*`: which of Salt's releases this corresponds to, by the names of
//! releases.

use halite_proto::{SALT_RELEASE, Value};

use halite_call::{Call, CallError, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "salt_version",
    functions: &[
        Function::new(
            "salt_version.equal",
            "(name)",
            |call| compared(call, |ours, named| ours == named),
            "Whether this is like the release of a name.",
        ),
        Function::new(
            "salt_version.get_release_number",
            "(name)",
            |call| Ok(number(call)?.map_or(Value::Nil, Value::from)),
            "The number of the release of a name.",
        ),
        Function::new(
            "salt_version.greater_than",
            "(name)",
            |call| compared(call, |ours, named| ours > named),
            "Whether this is like a release after that of a name.",
        ),
        Function::new(
            "salt_version.less_than",
            "(name)",
            |call| compared(call, |ours, named| ours < named),
            "Whether this is like a release before that of a name.",
        ),
    ],
};

/// The elements that releases are named after, in order.
const RELEASES: &[(&str, &str)] = &[
    ("hydrogen", "2014.1"),
    ("helium", "2014.7"),
    ("lithium", "2015.5"),
    ("beryllium", "2015.8"),
    ("boron", "2016.3"),
    ("carbon", "2016.11"),
    ("nitrogen", "2017.7"),
    ("oxygen", "2018.3"),
    ("fluorine", "2019.2"),
    ("neon", "3000"),
    ("sodium", "3001"),
    ("magnesium", "3002"),
    ("aluminium", "3003"),
    ("silicon", "3004"),
    ("phosphorus", "3005"),
    ("sulfur", "3006"),
    ("chlorine", "3007"),
    ("argon", "3008"),
    ("potassium", "3009"),
    ("calcium", "3010"),
    ("scandium", "3011"),
    ("titanium", "3012"),
    ("vanadium", "3013"),
    ("chromium", "3014"),
    ("manganese", "3015"),
    ("iron", "3016"),
];

fn number(call: &Call<'_>) -> Result<Option<&'static str>, CallError> {
    let Value::Str(name) = call.arg("name") else {
        return Err(CallError::command("'name' argument must be a string"));
    };
    let mut known = RELEASES.iter();
    let known = known.find(|(known, _)| name.eq_ignore_ascii_case(known));
    Ok(known.map(|(_, number)| *number))
}

/// A release to compare: before 3000 the year and the month, then one number.
fn rank(number: &str) -> (u32, u32) {
    let part = |text: &str| text.parse().unwrap_or_default();
    match number.split_once('.') {
        Some((major, minor)) if part(major) < 3000 => (part(major), part(minor)),
        Some((major, _)) => (part(major), 0),
        None => (part(number), 0),
    }
}

/// A name that no release has is like none, before none and after none.
fn compared(call: &Call<'_>, holds: fn((u32, u32), (u32, u32)) -> bool) -> CallResult {
    let named = number(call)?.map(rank);
    Ok(named
        .is_some_and(|named| holds(rank(SALT_RELEASE), named))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order() {
        assert!(RELEASES.is_sorted_by_key(|(_, number)| rank(number)));
        assert_eq!(rank(SALT_RELEASE), rank("3008"));
        assert!(rank("2016.3") < rank("2016.11"));
    }
}
