//! The secret that `cluster.rotate_secret` has made, in place of the configured
//! one.
//!
//! Pure. Invariants: of two such secrets all masters choose the later one; a secret
//! that is configured after one was made counts at that master only.

use halite_crypto::{HashType, Secret, hash_hex, random_bytes};
use halite_mesh::PeerId;
use halite_proto::{Map, Value};

/// Hexadecimal digits of such a secret.
const DIGITS: usize = 64;

/// When a secret was made, in microseconds since 1970, and by which master.
pub(crate) type Made = (u64, PeerId);

/// A secret that a master of the cluster has made.
#[derive(Clone)]
pub(crate) struct MadeSecret {
    pub(crate) secret: Secret<String>,
    pub(crate) made: Made,
}

impl MadeSecret {
    /// A new one, later than the one before.
    pub(crate) fn make(now_us: u64, by: &PeerId, before: Option<&Self>) -> Self {
        let after = before.map_or(0, |before| before.made.0.saturating_add(1));
        let bytes = Secret::new(random_bytes::<32>());
        Self {
            secret: Secret::new(hash_hex(HashType::Sha256, bytes.expose())),
            made: (now_us.max(after), by.clone()),
        }
    }

    /// The form in which peers receive it.
    pub(crate) fn to_value(&self) -> Value {
        Map::from([
            ("secret", Value::from(self.secret.expose().as_str())),
            ("made_us", self.made.0.into()),
            ("by", self.made.1.as_str().into()),
        ])
        .into()
    }

    /// Reads the form that a peer sends; `None` if it is invalid.
    pub(crate) fn from_value(value: Value) -> Option<Self> {
        let Value::Map(mut map) = value else {
            return None;
        };
        let Some(Value::Str(secret)) = map.remove("secret") else {
            return None;
        };
        let made_us = u64::try_from(map.get("made_us")?.as_i64()?).ok()?;
        Self::checked(Secret::new(secret), made_us, map.get("by")?.as_str()?)
    }

    fn checked(secret: Secret<String>, made_us: u64, by: &str) -> Option<Self> {
        let text = secret.expose();
        let is_made = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self {
            made: (made_us, PeerId::parse(by).ok()?),
            secret,
        })
        .filter(|_| is_made)
    }
}

/// A secret as a master keeps it.
#[derive(Clone)]
pub(crate) struct KeptSecret {
    pub(crate) made: MadeSecret,
    /// The digest of what was configured at this master when it heard of it.
    replaces: String,
}

impl KeptSecret {
    /// Stores a secret in place of the configured one.
    pub(crate) fn new(made: MadeSecret, configured: Option<&Secret<String>>) -> Self {
        Self {
            made,
            replaces: digest(configured),
        }
    }

    /// Its file, which people read too.
    pub(crate) fn to_text(&self) -> Secret<String> {
        let (made_us, by) = &self.made.made;
        Secret::new(format!(
            "# In place of the `cluster_secret` that was configured when\n\
             # `salt-run cluster.rotate_secret` made it. Masters that join need it.\n\
             cluster_secret: {}\nmade_us: {made_us}\nmade_by: {}\nreplaces: {}\n",
            self.made.secret.expose(),
            by.as_str(),
            self.replaces
        ))
    }

    /// Parses its file; `None` if the file is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(of, _)| *of == name).map(|(_, value)| value)
        };
        let secret = Secret::new(field("cluster_secret")?.to_owned());
        let made_us = field("made_us")?.parse().ok()?;
        Some(Self {
            made: MadeSecret::checked(secret, made_us, field("made_by")?)?,
            replaces: field("replaces")?.to_owned(),
        })
    }

    /// Whether it holds at a master where this is configured.
    pub(crate) fn holds_over(&self, configured: Option<&Secret<String>>) -> bool {
        configured.is_none_or(|of| {
            let is_same = of.expose() == self.made.secret.expose();
            of.expose().is_empty() || is_same || digest(configured) == self.replaces
        })
    }
}

/// Distinguishes configured secrets without storing them.
fn digest(configured: Option<&Secret<String>>) -> String {
    const PURPOSE: &str = "halite: the secret of a cluster that was replaced: ";
    let text = configured.map_or("", |secret| secret.expose().as_str());
    let text = Secret::new(format!("{PURPOSE}{text}"));
    hash_hex(HashType::Sha256, text.expose().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_secret_that_was_made_holds_until_another_one_is_configured() {
        let m1 = PeerId::parse("m1").unwrap();
        let made = MadeSecret::make(5, &m1, None);
        let old = secret("old");
        let kept = KeptSecret::new(made.clone(), Some(&old));
        let kept = KeptSecret::parse(kept.to_text().expose()).unwrap();
        assert!(kept.holds_over(Some(&old)));
        assert!(kept.holds_over(Some(&made.secret)));
        assert!(!kept.holds_over(Some(&secret("newer"))));
        assert!(kept.holds_over(None));
        assert!(KeptSecret::new(made, None).holds_over(Some(&secret(""))));
    }

    #[test]
    fn a_secret_is_later_than_the_one_before_whatever_the_clock_says() {
        let [m1, m2] = ["m1", "m2"].map(|name| PeerId::parse(name).unwrap());
        let first = MadeSecret::make(100, &m2, None);
        let second = MadeSecret::make(50, &m1, Some(&first));
        assert!(second.made > first.made);
        assert!(second.secret.expose() != first.secret.expose());
        let told = MadeSecret::from_value(second.to_value()).unwrap();
        assert!(told.made == second.made && told.secret.expose() == second.secret.expose());
    }

    #[test]
    fn what_is_no_secret_is_not_taken() {
        let m1 = PeerId::parse("m1").unwrap();
        let mut made = MadeSecret::make(5, &m1, None);
        made.secret = secret("short");
        assert!(MadeSecret::from_value(made.to_value()).is_none());
        assert!(MadeSecret::from_value(Value::Nil).is_none());
        let text = KeptSecret::new(made, None).to_text();
        assert!(KeptSecret::parse(text.expose()).is_none());
        assert!(KeptSecret::parse("").is_none());
    }
}
