//! The Python that runs the worker.

use std::path::{Path, PathBuf};

use crate::error::PyError;

/// Where Salt's own packages bring a Python, with the package `salt` and what
/// users have installed for their modules.
const OF_SALT: &str = "/opt/saltstack/salt/bin";

/// The Python that runs the worker; `wanted` is the option `python_executable`.
///
/// # Errors
/// When what is wanted is no file, or nothing is and there is no Python. A path from
/// the current directory on is none: whoever can write there would run code.
pub fn python(wanted: Option<&str>) -> Result<PathBuf, PyError> {
    match wanted.filter(|path| !path.is_empty()) {
        Some(path) if is_python(Path::new(path)) => Ok(PathBuf::from(path)),
        Some(path) => Err(PyError::NoExecutable(path.to_owned())),
        None => find_python().ok_or(PyError::NoPython),
    }
}

fn find_python() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/bin"].map(PathBuf::from);
    std::iter::once(PathBuf::from(OF_SALT))
        .chain(std::env::split_paths(&path))
        .chain(usual)
        .map(|directory| directory.join("python3"))
        .find(|path| is_python(path))
}

/// Whether there is a program at a whole path.
fn is_python(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}
