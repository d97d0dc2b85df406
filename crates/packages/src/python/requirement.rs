//! A line that asks pip for a package: `name[extra]>=1,<2; marker`, a URL or a
//! path.

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// The normal name; empty when only pip can tell.
    pub(crate) name: String,
    /// Operators and versions.
    pub(crate) conditions: Vec<(String, String)>,
}

const OPERATORS: &[&str] = &["===", "==", "~=", "!=", ">=", "<=", ">", "<"];

/// The name as all spellings of it are told apart: lower case, one dash.
pub(crate) fn normal_name(name: &str) -> String {
    let mut normal = String::new();
    let mut gap = false;
    for c in name.chars() {
        if matches!(c, '-' | '_' | '.') {
            gap = true;
        } else {
            if gap && !normal.is_empty() {
                normal.push('-');
            }
            gap = false;
            normal.extend(c.to_lowercase());
        }
    }
    normal
}

/// Reads a line.
///
/// # Errors
/// The comment that the state has for a bad one.
pub(crate) fn parse(text: &str) -> Result<Requirement, String> {
    let unnamed = Requirement {
        name: String::new(),
        conditions: Vec::new(),
    };
    let is_place = text.contains("://") || text.starts_with(['/', '.']);
    if is_place {
        let egg = text.split_once("egg=").map(|(_, egg)| {
            let end = egg.find(['&', '[', '=', ' ']).unwrap_or(egg.len());
            normal_name(&egg[..end])
        });
        if let Some((name, _)) = text.split_once(" @ ") {
            return Ok(Requirement {
                name: normal_name(name.trim()),
                ..unnamed
            });
        }
        return Ok(Requirement {
            name: egg.unwrap_or_default(),
            ..unnamed
        });
    }
    let line = text.split(';').next().unwrap_or(text).trim();
    let end = line
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(line.len());
    let (name, mut rest) = line.split_at(end);
    let bad = || {
        if text.contains('=') && !text.contains("==") {
            format!(
                "Invalid version specification in package {text}. '=' is not supported, use '==' instead."
            )
        } else {
            format!("pip raised an exception while parsing '{text}': Invalid requirement: '{text}'")
        }
    };
    if name.is_empty() {
        return Err(bad());
    }
    rest = rest.trim_start();
    if let Some(after) = rest.strip_prefix('[') {
        rest = after.split_once(']').ok_or_else(bad)?.1.trim_start();
    }
    let mut conditions = Vec::new();
    for condition in rest.trim_matches(['(', ')']).split(',').map(str::trim) {
        if condition.is_empty() {
            continue;
        }
        let (operator, version) = OPERATORS
            .iter()
            .find_map(|operator| Some((*operator, condition.strip_prefix(operator)?.trim())))
            .filter(|(_, version)| !version.is_empty() && !version.contains([' ', '=', '<', '>']))
            .ok_or_else(bad)?;
        conditions.push((operator.to_owned(), version.to_owned()));
    }
    Ok(Requirement {
        name: normal_name(name),
        conditions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let read = |text: &str| parse(text).unwrap();
        assert_eq!(read("Foo_Bar").name, "foo-bar");
        assert_eq!(
            read("foo[x,y] >= 1.2, <2 ; python_version > '3'").conditions,
            [(">=".into(), "1.2".into()), ("<".into(), "2".into())]
        );
        assert_eq!(read("git+https://h/x.git#egg=Thing").name, "thing");
        assert_eq!(read("https://h/x.whl").name, "");
        assert!(
            parse("foo=1")
                .unwrap_err()
                .starts_with("Invalid version specification")
        );
        assert!(parse("foo 1").is_err());
    }
}
