//! What identifies a job. Its id alone does not: two masters may give two commands
//! one id, and a minion also draws ids of its own.

use std::fmt;

use halite_crypto::{HashType, hash_hex};
use halite_proto::publish::PublishLoad;
use halite_proto::{Jid, PublisherId, Value, msgpack};

/// Digits of a digest that are kept: 160 bits. The digests of older versions were of 32
/// digits, and also over the target: what they have written is not read, and stands for
/// whatever has the id.
const DIGEST_DIGITS: usize = 40;

/// A publication: a digest of the command, and the master that allocated the job's id if
/// that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobKey {
    content: String,
    publisher: Option<PublisherId>,
}

impl JobKey {
    /// The key of what the master `publisher` publishes. Somebody may have given
    /// it the id; then, and for Salt's masters, the command alone counts.
    pub fn new(load: &PublishLoad, publisher: Option<PublisherId>) -> Self {
        let packed = msgpack::pack_modern(&command(load)).unwrap_or_default();
        let mut content = hash_hex(HashType::Sha256, &packed);
        content.truncate(DIGEST_DIGITS);
        Self {
            content,
            publisher: publisher.filter(|publisher| publisher.draws(&load.jid)),
        }
    }

    /// The master that allocated the id, in the form for other masters.
    pub fn drawn_by(&self) -> String {
        self.publisher.map(|id| id.to_string()).unwrap_or_default()
    }

    /// Reads what [`fmt::Display`] has written.
    pub fn parse(text: &str) -> Option<Self> {
        let (content, publisher) = match text.split_once('-') {
            Some((content, publisher)) => (content, Some(PublisherId::parse(publisher)?)),
            None => (text, None),
        };
        let is_digest =
            content.len() == DIGEST_DIGITS && content.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Self {
            content: content.to_owned(),
            publisher,
        })
    }

    /// Whether both are one job, if they have the same id. A cluster, and masters
    /// below another one, publish the same command under an id that one of them
    /// has drawn.
    pub fn is(&self, other: &Self) -> bool {
        let publishers = self.publisher.zip(other.publisher);
        self.content == other.content && publishers.is_none_or(|(one, other)| one == other)
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.content)?;
        match self.publisher {
            Some(publisher) => write!(f, "-{publisher}"),
            None => Ok(()),
        }
    }
}

/// The command and the destination of the result, without fields in which masters may
/// differ about the same job. The target is such a field: a master that continues the job
/// of another one names those who are left.
fn command(load: &PublishLoad) -> Value {
    let text = |text: &Option<String>| Value::from(text.clone());
    let value = |value: &Option<Value>| value.clone().unwrap_or_default();
    Value::List(vec![
        load.fun.to_value(),
        load.arg.clone().into(),
        load.ret.as_str().into(),
        value(&load.ret_config),
        value(&load.ret_kwargs),
        value(&load.module_executors),
        value(&load.executor_opts),
        value(&load.metadata),
        text(&load.id),
        text(&load.user),
        text(&load.master_id),
    ])
}

/// Where a job came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The minion itself: its schedule, its start.
    Own,
    /// A master.
    Master {
        /// As it is configured.
        name: String,
        /// The publication. `None` in a record of an older version, which matches any job
        /// with that id.
        key: Option<JobKey>,
    },
}

impl Origin {
    /// A publication of a master.
    pub fn master(name: &str, key: Option<JobKey>) -> Self {
        Self::Master {
            name: name.to_owned(),
            key,
        }
    }

    /// Whether it is this master.
    pub fn is_master(&self, wanted: &str) -> bool {
        matches!(self, Self::Master { name, .. } if name == wanted)
    }

    /// Whether both are one job, if they have the same id. One master gives an id
    /// once, as far as minions care: as in Salt, a second command is dropped.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Own, Self::Own) => true,
            (
                Self::Master { name, key },
                Self::Master {
                    name: named,
                    key: of,
                },
            ) => {
                name == named
                    || key
                        .as_ref()
                        .zip(of.as_ref())
                        .is_none_or(|(one, other)| one.is(other))
            }
            _ => false,
        }
    }
}

/// A job: its id, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobName {
    /// Its id.
    pub jid: Jid,
    /// Where it came from.
    pub origin: Origin,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(arg: &str, jid: &str) -> PublishLoad {
        let jid = Jid::parse(jid).unwrap();
        PublishLoad::new("cmd.run".into(), vec![arg.into()], "*".into(), "glob", jid)
    }

    const DRAWN_BY_42: &str = "20261120141841939042";

    #[test]
    fn a_job_is_its_command_and_who_published_it() {
        let [one, other] = [42, 7].map(|bits| Some(PublisherId::new(bits)));
        let key = |arg, publisher| JobKey::new(&load(arg, DRAWN_BY_42), publisher);
        assert!(key("a", one).is(&key("a", one)));
        assert!(!key("a", one).is(&key("b", one)));
        // Two masters of one residue have drawn it.
        assert!(!key("a", one).is(&key("a", Some(PublisherId::new(1_042)))));
        // The other one cannot have drawn it: it passes on what it was given.
        assert!(key("a", one).is(&key("a", other)));
        assert!(key("a", None).is(&key("a", one)));
        assert_eq!(key("a", other), key("a", None));
        assert_eq!(key("a", None).drawn_by(), "");
        let mut replayed = load("a", DRAWN_BY_42);
        replayed.serial = Some(7);
        replayed.extra.insert("progress", true);
        assert!(JobKey::new(&replayed, one).is(&key("a", one)));
    }

    #[test]
    fn a_job_that_another_master_narrows_to_some_minions_is_the_same() {
        let all = load("a", DRAWN_BY_42);
        let mut left = all.clone();
        left.tgt = vec![Value::from("web1")].into();
        left.tgt_type = "list".to_owned();
        let key = |load: &PublishLoad| JobKey::new(load, None);
        assert!(key(&all).is(&key(&left)));
        let of = |name: &str, load: &PublishLoad| Origin::master(name, Some(key(load)));
        assert!(of("m1", &all).is(&of("m2", &left)));
    }

    #[test]
    fn a_key_is_read_as_it_was_written() {
        for publisher in [None, Some(PublisherId::new(42))] {
            let key = JobKey::new(&load("a", DRAWN_BY_42), publisher);
            assert_eq!(JobKey::parse(&key.to_string()), Some(key));
        }
        for rubbish in ["", "12", "-", "x-y"] {
            assert_eq!(JobKey::parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn what_an_older_version_has_written_stands_for_all_of_its_id() {
        let key = |arg| Some(JobKey::new(&load(arg, DRAWN_BY_42), None));
        let old = Origin::master("m1", None);
        assert!(old.is(&Origin::master("m2", key("a"))));
        assert!(!old.is(&Origin::Own) && Origin::Own.is(&Origin::Own));
        let new = Origin::master("m1", key("a"));
        assert!(new.is(&Origin::master("m1", key("b"))));
        assert!(new.is(&Origin::master("m2", key("a"))));
        assert!(!new.is(&Origin::master("m2", key("b"))));
    }
}
