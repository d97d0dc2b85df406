//! The names in an environment.

/// The names of an environment, each kind sorted, relative to the roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Files, and everything else that is no directory.
    pub files: Vec<String>,
    /// Directories.
    pub dirs: Vec<String>,
    /// Directories without anything in them.
    pub empty_dirs: Vec<String>,
    /// Links that lead to something within their root, with their targets.
    pub links: Vec<(String, String)>,
}

/// The names that begin with `prefix`, in which outer slashes do not count.
pub(crate) fn below<'a>(names: &'a [String], prefix: Option<&str>) -> Vec<&'a str> {
    let prefix = prefix.unwrap_or_default().trim_matches('/');
    names
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with(prefix))
        .collect()
}
