//! The variables that describe a template's own file (`sls`, `tpldir` and others).

use std::path::Path;

use halite_proto::Map;

/// `tplpath`, `tplfile`, `tpldir`, `tpldot`, `slspath`, `slsdotpath`,
/// `slscolonpath` and `sls_path` of an SLS that lies at `path`.
///
/// Mirrors `generate_sls_context` of `salt/utils/templates.py`, 3008.
pub fn sls_names(path: Option<&str>, sls: &str) -> Map {
    let mut names = Map::new();
    let mut slspath = sls.replace('.', "/").trim_end_matches('/').to_owned();
    if let Some(path) = path {
        let template = posix(path);
        let file = if sls.is_empty() {
            let name = template.rsplit('/').next().unwrap_or_default();
            name.to_owned()
        } else if template.ends_with(&format!("{slspath}.sls")) {
            format!("{slspath}.sls")
        } else if template.ends_with(&format!("{slspath}/init.sls")) {
            format!("{slspath}/init.sls")
        } else {
            // No SLS: a template of a managed file, whose path is given.
            names.insert("tplpath", path);
            names.insert("tplfile", sls);
            names.insert("tpldir", parent(sls));
            return names;
        };
        slspath = match file.rsplit_once('/') {
            Some((dir, _)) => dir.to_owned(),
            None => String::new(),
        };
        names.insert("tplpath", path);
        names.insert("tplfile", file);
        let dir = if slspath.is_empty() { "." } else { &slspath };
        names.insert("tpldir", dir);
        names.insert("tpldot", slspath.replace('/', "."));
    }
    names.insert("slsdotpath", slspath.replace('/', "."));
    names.insert("slscolonpath", slspath.replace('/', ":"));
    names.insert("sls_path", slspath.replace('/', "_"));
    names.insert("slspath", slspath);
    names
}

/// A path without doubled slashes and `.` parts, as `pathlib` keeps it.
fn posix(path: &str) -> String {
    Path::new(path)
        .components()
        .collect::<std::path::PathBuf>()
        .to_string_lossy()
        .into_owned()
}

fn parent(path: &str) -> String {
    match posix(path).rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((dir, _)) => dir.to_owned(),
        None => ".".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halite_proto::Value;

    fn assert_names(path: &str, sls: &str, wanted: &[(&str, &str)]) {
        let names = sls_names(Some(path), sls);
        for (name, value) in wanted {
            let found = names.get(name).and_then(Value::as_str);
            assert_eq!(found, Some(*value), "{name} of {path}");
        }
    }

    #[test]
    fn a_file_and_a_directory_of_an_sls_differ() {
        assert_names(
            "/c/files/base/a/b.sls",
            "a.b",
            &[
                ("tplfile", "a/b.sls"),
                ("tpldir", "a"),
                ("slspath", "a"),
                ("slsdotpath", "a"),
                ("sls_path", "a"),
            ],
        );
        assert_names(
            "/c/files/base/a/b/init.sls",
            "a.b",
            &[
                ("tplfile", "a/b/init.sls"),
                ("tpldir", "a/b"),
                ("tpldot", "a.b"),
                ("slsdotpath", "a.b"),
                ("slscolonpath", "a:b"),
                ("sls_path", "a_b"),
            ],
        );
        assert_names(
            "/c/files/base/top.sls",
            "top",
            &[("tpldir", "."), ("tpldot", ""), ("slspath", "")],
        );
    }

    #[test]
    fn what_is_no_sls_keeps_its_path() {
        assert_names(
            "/c/files/base/a/motd.j2",
            "a/motd.j2",
            &[("tplfile", "a/motd.j2"), ("tpldir", "a")],
        );
        assert_names("/tmp/x.j2", "", &[("tplfile", "x.j2"), ("tpldir", ".")]);
    }
}
