//! Parses a minion's path.
//!
//! Mirrors `find_file` of `salt/fileserver/__init__.py` (3008.5): options after a
//! `?`, none in a path that begins with `|`, no absolute path and no way up.

use halite_proto::SaltEnv;

use crate::limits::PATH_BYTES_MAX;

/// What a minion wants, within the roots of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedPath {
    /// The path with single slashes, without `.` and `..`.
    pub(crate) rel: String,
    pub(crate) saltenv: SaltEnv,
    /// The only root to look into, from the end if negative.
    pub(crate) index: Option<i64>,
}

impl RequestedPath {
    /// Reads a path; `None` if it can name no file.
    pub(crate) fn parse(path: &str, saltenv: &SaltEnv) -> Option<Self> {
        let mut saltenv = saltenv.clone();
        let mut index = None;
        let path = if path.starts_with('|') {
            path.trim_start_matches('|')
        } else {
            let mut parts = path.split('?');
            let path = parts.next().unwrap_or_default();
            // What follows a second `?` counts for nothing.
            for option in parts.next().unwrap_or_default().split('&') {
                match option.split_once('=') {
                    Some(("saltenv", name)) => saltenv = SaltEnv::parse(name).ok()?,
                    Some(("index", number)) => index = Some(number.trim().parse().ok()?),
                    _ => {}
                }
            }
            path
        };
        Some(Self {
            rel: relative(path)?,
            saltenv,
            index,
        })
    }
}

/// The path with single slashes; `None` if it is not below where it starts.
pub(crate) fn relative(path: &str) -> Option<String> {
    if path.len() > PATH_BYTES_MAX
        || path.starts_with('/')
        || path.contains("../")
        || path.contains('\0')
    {
        return None;
    }
    let mut rel = String::with_capacity(path.len());
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => {
                if !rel.is_empty() {
                    rel.push('/');
                }
                rel.push_str(part);
            }
        }
    }
    (!rel.is_empty()).then_some(rel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Option<(String, String, Option<i64>)> {
        RequestedPath::parse(path, &SaltEnv::base())
            .map(|wanted| (wanted.rel, wanted.saltenv.to_string(), wanted.index))
    }

    fn plain(rel: &str) -> Option<(String, String, Option<i64>)> {
        Some((rel.to_owned(), "base".to_owned(), None))
    }

    #[test]
    fn options_stand_behind_a_question_mark() {
        assert_eq!(parse("a//./b/"), plain("a/b"));
        assert_eq!(
            parse("a?saltenv=dev&index=-1&x=y&z"),
            Some(("a".to_owned(), "dev".to_owned(), Some(-1)))
        );
        assert_eq!(parse("a?saltenv=b?saltenv=c").unwrap().1, "b");
        assert_eq!(parse("a?index=x"), None);
        assert_eq!(parse("a?saltenv=../x"), None);
        assert_eq!(parse("|a?saltenv=dev"), plain("a?saltenv=dev"));
        assert_eq!(parse("||a"), plain("a"));
    }

    #[test]
    fn no_path_leads_out() {
        for evil in [
            "",
            ".",
            "..",
            "./",
            "/",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a/..",
            "a/b/../../../x",
            "|/etc/passwd",
            "|../x",
            "||../x",
            "a\0b",
            "//etc/passwd",
            "?saltenv=base",
            "/?saltenv=base",
        ] {
            assert_eq!(parse(evil), None, "{evil:?}");
        }
        assert_eq!(parse(&"x/".repeat(3000)), None);
        for fine in ["...", "..x", ".a", "a b", "ž", "a\\..\\b", "~root"] {
            assert_eq!(parse(fine), plain(fine));
        }
    }
}
