//! Addresses of files of the master.

/// What a `salt://` address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaltUrl {
    /// The path below the roots.
    pub path: String,
    /// The environment, if the address names one.
    pub saltenv: Option<String>,
}

impl SaltUrl {
    /// Reads `salt://a/b?saltenv=dev`; nothing for other addresses.
    pub fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("salt://")?;
        // An escaped path may hold any character.
        if rest.starts_with('|') {
            return Some(Self {
                path: rest.to_owned(),
                saltenv: None,
            });
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let saltenv = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("saltenv="))
            .filter(|env| !env.is_empty());
        // `salt:///a` is a common way to write it.
        let path = path.trim_start_matches('/');
        Some(Self {
            path: path.to_owned(),
            saltenv: saltenv.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let url = |text| SaltUrl::parse(text).map(|url| (url.path, url.saltenv));
        assert_eq!(url("salt://a/b"), Some(("a/b".to_owned(), None)));
        assert_eq!(url("salt:///a/b"), Some(("a/b".to_owned(), None)));
        assert_eq!(
            url("salt://a?saltenv=dev"),
            Some(("a".to_owned(), Some("dev".to_owned())))
        );
        assert_eq!(url("salt://|a?b"), Some(("|a?b".to_owned(), None)));
        assert_eq!(url("http://a"), None);
    }
}
