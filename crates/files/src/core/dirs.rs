//! Making directories with their missing parents.

use std::path::Path;

use halite_call::CallError;
use halite_call::paths::{self, Held};
use halite_proto::Value;

use super::{mode, owner};
use halite_call::os_error;

/// Makes the missing parents of `path`, top down, each with owner and mode.
///
/// # Errors
/// When one cannot be made.
pub(crate) fn make_parents(
    path: &str,
    user: &Value,
    group: &Value,
    mode: Option<&str>,
) -> Result<(), CallError> {
    let parent = super::path::dirname(path);
    make_all(Path::new(parent), user, group, mode)
}

/// Makes a directory and its missing parents, each with owner and mode.
///
/// # Errors
/// When one cannot be made.
pub(crate) fn make_all(
    path: &Path,
    user: &Value,
    group: &Value,
    mode: Option<&str>,
) -> Result<(), CallError> {
    let uid = user.is_true().then(|| owner::uid(user)).flatten();
    let gid = group.is_true().then(|| owner::gid(group)).flatten();
    let dress = |made: &Held| {
        if uid.is_some() || gid.is_some() {
            made.chown(uid, gid)?;
        }
        match mode {
            Some(mode) => made.set_mode(mode::parse_or_invalid(mode)?),
            None => Ok(()),
        }
    };
    paths::create_dirs(path, 0o777, dress).map_err(|error| os_error(&error, path))
}

/// The mode of directories where only that of files is given: who may do
/// anything may also enter. Special bits are those of the file alone.
pub(crate) fn mode_from_file(file_mode: &str) -> Option<String> {
    let bits = mode::parse(file_mode)?;
    let bits = bits & 0o777;
    let enter = (bits | bits >> 1 | bits >> 2) & 0o111;
    Some(mode::digits(bits | enter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_read_may_enter() {
        assert_eq!(mode_from_file("0640").as_deref(), Some("0750"));
        assert_eq!(mode_from_file("0600").as_deref(), Some("0700"));
    }
}
