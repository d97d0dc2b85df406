//! The addresses of the master's files, in texts for people: the author of
//! `salt://app/init.sls` does not know the path of its copy in a minion's cache.

use std::path::Path;

/// The environment that an address need not name.
const BASE: &str = "base";

/// What ends a path within a report: the line behind it, or its end.
const ENDS: [char; 5] = [':', '\n', ' ', '"', '\''];

/// The text with addresses in the place of paths below the cache of files.
pub(super) fn with_addresses(text: &str, cachedir: &Path) -> String {
    let cache = format!("{}/", cachedir.join("files").display());
    let mut parts = text.split(cache.as_str());
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('/') {
            Some((env, rest)) if !env.contains(ENDS) => {
                let end = rest.find(ENDS).unwrap_or(rest.len());
                let (path, rest) = rest.split_at(end);
                out.push_str(&format!("salt://{path}"));
                if env != BASE {
                    out.push_str(&format!("?saltenv={env}"));
                }
                out.push_str(rest);
            }
            _ => out.push_str(&format!("{cache}{part}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_cache_become_addresses() {
        let shown = |text| with_addresses(text, Path::new("/c"));
        assert_eq!(
            shown("/c/files/base/a/b.sls:1:2: no\nin x, /c/files/dev/m.jinja:3:4"),
            "salt://a/b.sls:1:2: no\nin x, salt://m.jinja?saltenv=dev:3:4"
        );
        for same in ["/c/files/base: gone", "/d/files/base/a.sls", "no path"] {
            assert_eq!(shown(same), same);
        }
    }
}
