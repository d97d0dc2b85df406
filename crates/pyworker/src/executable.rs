//! The Python that runs the worker.

use std::ffi::OsStr;
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
        None => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            find_python(&path).ok_or(PyError::NoPython)
        }
    }
}

fn find_python(path: &OsStr) -> Option<PathBuf> {
    let usual = ["/usr/bin", "/usr/local/bin", "/bin"].map(PathBuf::from);
    std::iter::once(PathBuf::from(OF_SALT))
        .chain(std::env::split_paths(path))
        .chain(usual)
        .map(|directory| directory.join("python3"))
        .find(|path| is_python(path))
}

/// Whether there is a program at a whole path.
fn is_python(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever directory a program is started in, and whoever can write there.
    #[test]
    fn no_python_comes_from_the_current_directory() {
        let here = tempfile::tempdir_in(".").unwrap();
        std::fs::write(here.path().join("python3"), "").unwrap();
        let name = Path::new(here.path().file_name().unwrap());
        assert!(name.join("python3").is_file());
        let python_here = name.join("python3").display().to_string();
        assert!(matches!(
            python(Some(&python_here)),
            Err(PyError::NoExecutable(_))
        ));
        let found = find_python(name.as_os_str());
        assert_ne!(found, Some(name.join("python3")));
        assert!(found.is_none_or(|python| python.is_absolute()));
    }
}
