//! The wanted revision on the remote side.

use super::short;

/// What the wanted revision is on the remote side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) hash: Option<String>,
    pub(super) is_branch: bool,
    pub(super) is_tag: bool,
    /// `origin/main`, for branches.
    pub(super) upstream: Option<String>,
    /// How messages name it.
    pub(super) place: String,
    pub(super) tags: Vec<String>,
    pub(super) has_head: bool,
    pub(super) default_branch: Option<String>,
}

impl Remote {
    /// Finds `rev` among the references of `remote`: `HEAD`, a branch, a tag or
    /// a hash, in this order.
    pub(super) fn find(refs: &[(String, String)], rev: &str, remote: &str) -> Self {
        let get = |name: &str| {
            refs.iter()
                .find(|(known, _)| known == name)
                .map(|(_, hash)| hash.clone())
        };
        let tags = refs
            .iter()
            .filter_map(|(name, _)| name.strip_prefix("refs/tags/"))
            .filter(|name| !name.ends_with("^{}"))
            .map(str::to_owned)
            .collect();
        let mut found = Self {
            tags,
            has_head: get("HEAD").is_some(),
            default_branch: get("HEAD").and_then(|head| {
                let mut heads = refs.iter().filter(|(_, hash)| *hash == head);
                heads.find_map(|(name, _)| name.strip_prefix("refs/heads/").map(str::to_owned))
            }),
            ..Self::default()
        };
        if rev == "HEAD" {
            found.hash = get("HEAD");
            let hash = found.hash.clone().unwrap_or_default();
            found.place = format!("remote HEAD ({})", short(&hash));
        } else if let Some(hash) = get(&format!("refs/heads/{rev}")) {
            let upstream = format!("{remote}/{rev}");
            found.place = format!("{upstream} ({})", short(&hash));
            found.is_branch = true;
            found.upstream = Some(upstream);
            found.hash = Some(hash);
        } else if let Some(hash) =
            get(&format!("refs/tags/{rev}^{{}}")).or_else(|| get(&format!("refs/tags/{rev}")))
        {
            found.place = format!("{rev} ({})", short(&hash));
            found.is_tag = true;
            found.hash = Some(hash);
        } else if rev.len() <= 40 && rev.chars().all(|c| c.is_ascii_hexdigit()) {
            let hash = rev.to_lowercase();
            short(&hash).clone_into(&mut found.place);
            found.hash = Some(hash);
        }
        found
    }
}
