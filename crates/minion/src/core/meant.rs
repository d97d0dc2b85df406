//! Whether a publication is meant for this minion. The master's own idea of
//! who is meant only tells it whom to wait for; the minion decides.

use halite_proto::Value;
use halite_target::{TargetError, glob, list, pcre};
use thiserror::Error;

/// Why it cannot be told whether a minion is meant.
#[derive(Debug, Error)]
pub enum MeantError {
    /// The target is not of the type that its kind has.
    #[error("a {kind} target cannot be a {found}")]
    Type {
        /// `tgt_type`.
        kind: String,
        /// What it is.
        found: &'static str,
    },
    /// There is no such kind of target here.
    #[error("targets of type {0} are not supported by this minion")]
    Kind(String),
    /// The expression cannot be matched.
    #[error(transparent)]
    Expression(#[from] TargetError),
}

/// Whether the target `tgt` of kind `tgt_type` means the minion `id`.
///
/// # Errors
/// When the target cannot be read; the job is not for anybody then.
pub fn is_meant(tgt: &Value, tgt_type: &str, id: &str) -> Result<bool, MeantError> {
    let text = || {
        tgt.as_str().ok_or_else(|| MeantError::Type {
            kind: tgt_type.to_owned(),
            found: tgt.type_name(),
        })
    };
    match tgt_type {
        "glob" => Ok(glob::fnmatch(text()?, id)),
        "pcre" => Ok(pcre::match_start(text()?, id)?),
        "list" => Ok(list::contains(tgt, id)),
        other => Err(MeantError::Kind(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_means_what_it_says() {
        let ids = Value::List(vec!["web2".into(), "web1".into()]);
        for (tgt, kind, meant) in [
            (Value::from("web*"), "glob", true),
            (Value::from("web"), "glob", false),
            (Value::from("web[0-9]$"), "pcre", true),
            (Value::from("eb"), "pcre", false),
            (Value::from("web2,web1"), "list", true),
            (ids, "list", true),
        ] {
            assert_eq!(
                is_meant(&tgt, kind, "web1").unwrap(),
                meant,
                "{kind} {tgt:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_means_nobody() {
        assert!(is_meant(&Value::Int(5), "glob", "web1").is_err());
        assert!(is_meant(&Value::from("("), "pcre", "web1").is_err());
        assert!(is_meant(&Value::from("*"), "nosuch", "web1").is_err());
    }
}
