//! The files of rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// A set of options, who asks, and what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    pub(crate) name: String,
    /// How users log in.
    #[serde(default = "shared_secret")]
    pub(crate) eauth: String,
    pub(crate) options: BTreeMap<String, Value>,
    #[serde(default)]
    users: Vec<User>,
    #[serde(default)]
    local: Vec<(String, String)>,
    #[serde(default)]
    publish: Vec<Vec<Value>>,
    #[serde(default)]
    runner: Vec<Vec<Value>>,
    #[serde(default)]
    wheel: Vec<Vec<Value>>,
    /// Minions that ask.
    #[serde(default)]
    minions: Vec<String>,
    #[serde(default)]
    peer: Vec<Vec<Value>>,
    #[serde(default)]
    peer_run: Vec<Vec<Value>>,
    #[serde(default)]
    pub(crate) differs: Vec<Difference>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum User {
    Name(String),
    WithPassword { name: String, password: String },
}

/// Requests that are answered otherwise than by Salt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    /// All of these users if none is listed.
    #[serde(default)]
    asks: BTreeSet<String>,
    /// Whose; everybody's if nobody is named.
    #[serde(default)]
    users: BTreeSet<String>,
    ours: String,
    pub(crate) because: String,
    /// Why it does no harm that ours allows more than Salt.
    #[serde(default)]
    pub(crate) widens: Option<String>,
}

impl Difference {
    /// Ours may only be narrower than Salt, or say why it is not.
    pub(crate) fn is_unexplained_widening(&self) -> bool {
        (self.ours == "allowed") != self.widens.is_some()
    }
}

fn shared_secret() -> String {
    "sharedsecret".to_owned()
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// Somebody who logs in.
    User {
        name: String,
        password: Option<String>,
    },
    /// Somebody on the master's machine who shows the key of `owner`.
    Local { name: String, owner: String },
    /// An accepted minion.
    Minion { id: String },
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User {
                name,
                password: None,
            } => f.write_str(name),
            Self::User { name, .. } => write!(f, "{name} with a wrong password"),
            Self::Local { name, owner } => write!(f, "{name} with the key of {owner}"),
            Self::Minion { id } => write!(f, "minion {id}"),
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Publish,
    Runner,
    Wheel,
    /// A job that a minion begins.
    Peer,
    /// A runner that a minion begins.
    PeerRun,
}

impl Way {
    /// The command of the request.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Runner => "runner",
            Self::Wheel => "wheel",
            Self::Peer => "minion_pub",
            Self::PeerRun => "minion_runner",
        }
    }
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) who: Who,
    pub(crate) way: Way,
    /// What is asked, as its file spells it.
    pub(crate) name: String,
    /// The request without who asks.
    pub(crate) load: Value,
}

/// Reads a file. Words in it stand for what only a run knows.
pub(crate) fn read(file: &str, known: &[(&str, &str)]) -> Result<Vec<Rules>> {
    let dir = halite_integration_tests::package_dir().join("tests/access_rules");
    let text = std::fs::read_to_string(dir.join(file))?;
    let text = known
        .iter()
        .fold(text, |text, (word, value)| text.replace(word, value));
    serde_yaml::from_str(&text).with_context(|| file.to_owned())
}

impl Rules {
    /// Each user with each request.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        let users = self.users.iter().map(|user| match user {
            User::Name(name) => Who::User {
                name: name.clone(),
                password: None,
            },
            User::WithPassword { name, password } => Who::User {
                name: name.clone(),
                password: Some(password.clone()),
            },
        });
        let local = self.local.iter().map(|(name, owner)| Who::Local {
            name: name.clone(),
            owner: owner.clone(),
        });
        let minions = self.minions.iter().map(|id| Who::Minion { id: id.clone() });
        let mut asks = Vec::new();
        for who in users.chain(local).chain(minions) {
            let ways = match who {
                Who::Minion { .. } => vec![(Way::Peer, &self.peer), (Way::PeerRun, &self.peer_run)],
                _ => vec![
                    (Way::Publish, &self.publish),
                    (Way::Runner, &self.runner),
                    (Way::Wheel, &self.wheel),
                ],
            };
            for (way, lines) in ways {
                asks.extend(lines.iter().map(|line| Ask {
                    who: who.clone(),
                    way,
                    name: name(line),
                    load: load(way, line),
                }));
            }
        }
        asks
    }

    /// Whose keys the requests of local users show, root's among them.
    pub(crate) fn owners(&self) -> BTreeSet<String> {
        let owners = self.local.iter().map(|(_, owner)| owner.clone());
        // Nobody has the key of `none`.
        let owners = owners.filter(|owner| owner != "none");
        owners.chain([String::from("root")]).collect()
    }

    /// The entry that explains why a request is answered otherwise than by
    /// Salt, by its position, and the answer.
    pub(crate) fn explained(&self, ask: &Ask) -> Option<(usize, &String)> {
        let who = ask.who.to_string();
        let entry = self.differs.iter().position(|difference| {
            (difference.asks.is_empty() || difference.asks.contains(&ask.name))
                && (difference.users.is_empty() || difference.users.contains(&who))
        })?;
        Some((entry, &self.differs[entry].ours))
    }
}

/// A line of the file in one text.
fn name(line: &[Value]) -> String {
    let items: Vec<String> = line.iter().map(spelled).collect();
    items.join(" ")
}

fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spelled).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

fn load(way: Way, line: &[Value]) -> Value {
    if way == Way::Publish {
        let fun = &line[2];
        // A list of functions has one list of arguments for each.
        let arg = match fun {
            Value::Array(_) => line[3].clone(),
            _ => json!(line[3..]),
        };
        return json!({ "tgt_type": line[0], "tgt": line[1], "fun": fun, "arg": arg, "ret": "", "jid": "" });
    }
    match way {
        Way::Peer => {
            return json!({ "tgt_type": line[0], "tgt": line[1], "fun": line[2], "arg": line[3..], "ret": "" });
        }
        Way::PeerRun => return json!({ "fun": line[0], "arg": line[1..] }),
        _ => {}
    }
    let (named, args): (Vec<_>, Vec<_>) = line[1..].iter().cloned().partition(Value::is_object);
    let kwarg = named.into_iter().next().unwrap_or_else(|| json!({}));
    match way {
        Way::Runner => {
            json!({ "fun": line[0], "kwarg": { "arg": args, "kwarg": kwarg } })
        }
        _ => json!({ "fun": line[0], "kwarg": { "arg": args, "kwarg": kwarg }, "arg": args }),
    }
}
