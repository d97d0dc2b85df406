//! Where a URL says that a password is.

use halite_crypto::Secret;
use halite_crypto::files::read_limited;

use super::AddressError;
use crate::limits::PASSWORD_BYTES_MAX;

/// The one in a file.
pub(super) fn in_file(path: &str) -> Result<Secret<String>, AddressError> {
    let bytes =
        read_limited(path.as_ref(), PASSWORD_BYTES_MAX).map_err(AddressError::PasswordFile)?;
    let text = String::from_utf8(bytes).map_err(|_| AddressError::NotText("password"))?;
    Ok(Secret::new(text.trim_end().to_owned()))
}

/// The one in a variable of the environment.
pub(super) fn in_variable(name: &str) -> Result<Secret<String>, AddressError> {
    let found = std::env::var(name);
    let found = found.map_err(|_| AddressError::NoVariable(name.to_owned()))?;
    Ok(Secret::new(found))
}
