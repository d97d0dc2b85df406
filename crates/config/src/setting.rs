//! The types of options: what each accepts, and the error for an administrator when
//! a value does not fit.

mod by_itself;
mod partial;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use halite_proto::{Map, Value};
use halite_yaml::{Node, NodeKind};

pub use by_itself::{Reactions, Rule, Schedule};
pub use partial::{EventReturners, ExternalPillars, JobCacheName, LoginWays, MasterTops};
pub use words::*;

/// The type of an option.
pub(crate) trait Setting: Sized {
    /// What a value may be, to end the sentence `it is ...`.
    const ALLOWED: &'static str;

    /// The value of a node, if it is one of this type.
    fn read(node: &Node) -> Option<Self>;

    /// The value as it would stand in a file.
    fn to_value(&self) -> Value;

    /// Where a node that cannot be read is wrong: itself, or one of its items.
    fn fault(node: &Node) -> &Node {
        node
    }
}

/// A number of things, not negative.
pub type Count = u64;

/// A TCP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub u16);

/// A time in seconds, fractions allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub f64);

impl Seconds {
    /// The time; nothing of it when it is negative.
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or_default()
    }
}

/// One text, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>);

/// A value of any type, which the code that uses it looks into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyValue(pub Value);

/// `master`: one, or several that are all served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masters {
    /// The entries, as written.
    pub entries: Vec<String>,
    /// Whether it is a list, even of one.
    pub is_list: bool,
}

/// `tcp_pub_port` or `tcp_pull_port` of a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortSetting {
    /// One number: the first master's.
    Base(i64),
    /// One for each master.
    List(Vec<i64>),
}

impl Setting for bool {
    const ALLOWED: &'static str = "True or False";

    fn read(node: &Node) -> Option<Self> {
        match node.as_scalar()? {
            Value::Bool(flag) => Some(*flag),
            // Salt takes numbers for the truth they have in Python.
            Value::Int(number @ (0 | 1)) => Some(*number == 1),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Setting for i64 {
    const ALLOWED: &'static str = "a whole number";

    fn read(node: &Node) -> Option<Self> {
        whole(node).and_then(|number| number.try_into().ok())
    }

    fn to_value(&self) -> Value {
        Value::from(*self)
    }
}

impl Setting for Count {
    const ALLOWED: &'static str = "a whole number, not negative";

    fn read(node: &Node) -> Option<Self> {
        whole(node).and_then(|number| number.try_into().ok())
    }

    fn to_value(&self) -> Value {
        Value::from(*self)
    }
}

impl Setting for Port {
    const ALLOWED: &'static str = "a port (1 to 65535)";

    fn read(node: &Node) -> Option<Self> {
        let port = u16::try_from(whole(node)?).ok()?;
        (port != 0).then_some(Self(port))
    }

    fn to_value(&self) -> Value {
        Value::from(self.0)
    }
}

impl Setting for Seconds {
    const ALLOWED: &'static str = "a number of seconds";

    fn read(node: &Node) -> Option<Self> {
        let number = match node.as_scalar()? {
            Value::Str(text) => text.trim().parse().ok()?,
            number => number.as_f64()?,
        };
        number.is_finite().then_some(Self(number))
    }

    fn to_value(&self) -> Value {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            #[expect(clippy::cast_possible_truncation, reason = "bounded and whole")]
            return Value::from(self.0 as i64);
        }
        Value::Float(self.0)
    }
}

impl Setting for String {
    const ALLOWED: &'static str = "text";

    fn read(node: &Node) -> Option<Self> {
        match node.as_scalar()? {
            Value::Str(text) => Some(text.clone()),
            // An id or a name that looks like a number is meant as written.
            Value::Int(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl Setting for PathBuf {
    const ALLOWED: &'static str = "a path";

    fn read(node: &Node) -> Option<Self> {
        node.as_str()
            .filter(|text| !text.contains('\0'))
            .map(Self::from)
    }

    fn to_value(&self) -> Value {
        Value::from(self.display().to_string())
    }
}

impl<T: Setting> Setting for Option<T> {
    const ALLOWED: &'static str = T::ALLOWED;

    fn read(node: &Node) -> Option<Self> {
        if node.is_nil() {
            Some(None)
        } else {
            T::read(node).map(Some)
        }
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Nil, T::to_value)
    }
}

impl Setting for OneOrMany {
    const ALLOWED: &'static str = "text or a list of texts";

    fn read(node: &Node) -> Option<Self> {
        match &node.value {
            NodeKind::Scalar(Value::Nil) => Some(Self::default()),
            NodeKind::Scalar(Value::Str(text)) if text.is_empty() => Some(Self::default()),
            NodeKind::Scalar(_) => Some(Self(vec![String::read(node)?])),
            NodeKind::List(items) => items
                .iter()
                .map(String::read)
                .collect::<Option<_>>()
                .map(Self),
            NodeKind::Map(_) => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::List(self.0.iter().map(|text| text.as_str().into()).collect())
    }

    fn fault(node: &Node) -> &Node {
        faulty_item(node, |item| String::read(item).is_some())
    }
}

impl Setting for Masters {
    const ALLOWED: &'static str = "a host, or a list of hosts";

    fn read(node: &Node) -> Option<Self> {
        let items = node.as_list();
        // A number is no host, though it could be the text of one.
        let is_host = |item: &Node| matches!(&item.value, NodeKind::Scalar(Value::Str(_)));
        let is_nothing = matches!(&node.value, NodeKind::Scalar(Value::Nil));
        let all_hosts = match items {
            Some(items) => items.iter().all(is_host),
            None => is_nothing || is_host(node),
        };
        let OneOrMany(entries) = OneOrMany::read(node).filter(|_| all_hosts)?;
        let is_list = items.is_some();
        (!entries.is_empty()).then_some(Self { entries, is_list })
    }

    fn to_value(&self) -> Value {
        match self.entries.as_slice() {
            [one] if !self.is_list => Value::from(one.as_str()),
            many => Value::List(many.iter().map(|text| text.as_str().into()).collect()),
        }
    }

    fn fault(node: &Node) -> &Node {
        faulty_item(node, |item| {
            matches!(&item.value, NodeKind::Scalar(Value::Str(_)))
        })
    }
}

impl Setting for PortSetting {
    const ALLOWED: &'static str = "a port, or a list of ports, one for each master";

    fn read(node: &Node) -> Option<Self> {
        match node.as_list() {
            Some(items) => items
                .iter()
                .map(i64::read)
                .collect::<Option<_>>()
                .map(Self::List),
            None => i64::read(node).map(Self::Base),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Base(port) => Value::from(*port),
            Self::List(ports) => Value::List(ports.iter().map(|port| (*port).into()).collect()),
        }
    }

    fn fault(node: &Node) -> &Node {
        faulty_item(node, |item| i64::read(item).is_some())
    }
}

impl Setting for AnyValue {
    const ALLOWED: &'static str = "any value";

    fn read(node: &Node) -> Option<Self> {
        Some(Self(node.to_value()))
    }

    fn to_value(&self) -> Value {
        self.0.clone()
    }
}

impl Setting for Map {
    const ALLOWED: &'static str = "a map";

    fn read(node: &Node) -> Option<Self> {
        match node.to_value() {
            Value::Map(map) => Some(map),
            Value::Nil => Some(Self::new()),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::Map(self.clone())
    }
}

/// Environments and their directories (`file_roots`, `pillar_roots`).
impl Setting for BTreeMap<String, Vec<PathBuf>> {
    const ALLOWED: &'static str = "a map of environments to lists of directories";

    fn read(node: &Node) -> Option<Self> {
        let entries = match &node.value {
            NodeKind::Map(entries) => entries,
            NodeKind::Scalar(Value::Nil) => return Some(Self::new()),
            _ => return None,
        };
        entries
            .iter()
            .map(|(env, dirs)| {
                let OneOrMany(dirs) = OneOrMany::read(dirs)?;
                Some((
                    String::read(env)?,
                    dirs.into_iter().map(PathBuf::from).collect(),
                ))
            })
            .collect()
    }

    fn fault(node: &Node) -> &Node {
        let wrong = faulty_value(node, |dirs| OneOrMany::read(dirs).is_some());
        OneOrMany::fault(wrong)
    }

    fn to_value(&self) -> Value {
        let dirs = |dirs: &Vec<PathBuf>| Value::List(dirs.iter().map(Setting::to_value).collect());
        Value::Map(
            self.iter()
                .map(|(env, own)| (env.as_str(), dirs(own)))
                .collect(),
        )
    }
}

/// Parts of the program and their levels (`log_granular_levels`).
impl Setting for BTreeMap<String, LevelName> {
    const ALLOWED: &'static str = "a map of names to levels (debug, info, warning ...)";

    fn read(node: &Node) -> Option<Self> {
        match &node.value {
            NodeKind::Map(entries) => entries
                .iter()
                .map(|(name, level)| Some((String::read(name)?, LevelName::read(level)?)))
                .collect(),
            NodeKind::Scalar(Value::Nil) => Some(Self::new()),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        let level = |level: &LevelName| level.to_value();
        Value::Map(
            self.iter()
                .map(|(name, own)| (name.as_str(), level(own)))
                .collect(),
        )
    }

    fn fault(node: &Node) -> &Node {
        faulty_value(node, |level| LevelName::read(level).is_some())
    }
}

/// The first item of a list that is wrong; the node itself if it is none.
fn faulty_item(node: &Node, is_right: impl Fn(&Node) -> bool) -> &Node {
    let items = node.as_list().unwrap_or_default();
    items.iter().find(|item| !is_right(item)).unwrap_or(node)
}

/// The first value of a map that is wrong; the node itself if it is none.
fn faulty_value(node: &Node, is_right: impl Fn(&Node) -> bool) -> &Node {
    let NodeKind::Map(entries) = &node.value else {
        return node;
    };
    let mut values = entries.iter().map(|(_, value)| value);
    values.find(|value| !is_right(value)).unwrap_or(node)
}

fn whole(node: &Node) -> Option<i128> {
    match node.as_scalar()? {
        Value::Int(number) => Some(*number),
        // Salt converts text, as in `publish_port: "4505"`.
        Value::Str(text) => text.trim().parse().ok(),
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 1e15 =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "bounded above")]
            Some(*float as i128)
        }
        _ => None,
    }
}
