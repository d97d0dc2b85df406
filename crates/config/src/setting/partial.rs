//! Options that Halite supports only in part: other values are refused with their
//! place, instead of being ignored.

use halite_proto::{Map, Value};
use halite_yaml::{Node, NodeKind};

use super::{Setting, faulty_item};

/// `ext_pillar`: programs, directories and Python modules that add to pillars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalPillars(pub Vec<Value>);

/// `master_tops`: who says which states minions have, besides the top files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MasterTops(pub Map);

/// `event_return`: the returners that get the events of the master.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventReturners(pub Vec<String>);

/// `external_auth`: ways to log in, with who may do what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginWays(pub Map);

/// `master_job_cache`: a returner that gets jobs beside our own files, by its
/// name; `local_cache` are the files alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCacheName(pub String);

impl JobCacheName {
    /// The files alone.
    pub const LOCAL: &str = "local_cache";
}

impl Default for JobCacheName {
    fn default() -> Self {
        Self(Self::LOCAL.to_owned())
    }
}

impl Setting for ExternalPillars {
    const ALLOWED: &'static str =
        "a list of external pillars, each a map of a name to its settings";

    fn read(node: &Node) -> Option<Self> {
        match node.to_value() {
            Value::Nil => Some(Self::default()),
            Value::List(items) => items.iter().all(is_external_pillar).then_some(Self(items)),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::List(self.0.clone())
    }

    /// The unknown name, if it is in a map.
    fn fault(node: &Node) -> &Node {
        let item = faulty_item(node, |item| is_external_pillar(&item.to_value()));
        let NodeKind::Map(entries) = &item.value else {
            return item;
        };
        let mut names = entries.iter().map(|(name, _)| name);
        names
            .find(|name| !name.as_scalar().is_some_and(is_module_name))
            .unwrap_or(item)
    }
}

/// A map of nothing but names of modules.
fn is_external_pillar(item: &Value) -> bool {
    item.as_map()
        .is_some_and(|item| !item.is_empty() && item.keys().all(is_module_name))
}

/// Whether a module in Python may have that name.
fn is_module_name(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric())
    })
}

impl Setting for LoginWays {
    const ALLOWED: &'static str = "a map from ways to log in (auto, file, ldap, pam, rest, sharedsecret, or a module in Python) to users and what they may do";

    fn read(node: &Node) -> Option<Self> {
        if node.as_scalar().is_some_and(Value::is_nil) {
            return Some(Self::default());
        }
        let NodeKind::Map(entries) = &node.value else {
            return None;
        };
        let is_right = entries
            .iter()
            .all(|(way, of_way)| is_login_way(way, of_way));
        match node.to_value() {
            Value::Map(map) if is_right => Some(Self(map)),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        self.0.clone().into()
    }

    fn fault(node: &Node) -> &Node {
        let NodeKind::Map(entries) = &node.value else {
            return node;
        };
        let wrong = entries
            .iter()
            .find(|(way, of_way)| !is_login_way(way, of_way));
        wrong.map_or(node, |(way, _)| way)
    }
}

/// A way that masters here have or a module in Python, with a map of its users.
fn is_login_way(way: &Node, of_way: &Node) -> bool {
    is_module_name(&way.to_value()) && matches!(of_way.value, NodeKind::Map(_))
}

impl Setting for JobCacheName {
    const ALLOWED: &'static str = "`local_cache`, or the name of a returner in Python";

    fn read(node: &Node) -> Option<Self> {
        let value = node.to_value();
        let name = value.as_str()?;
        is_module_name(&value).then(|| Self(name.to_owned()))
    }

    fn to_value(&self) -> Value {
        self.0.as_str().into()
    }
}

impl Setting for MasterTops {
    const ALLOWED: &'static str =
        "a map from master tops to their settings; that of ext_nodes is its command";

    fn read(node: &Node) -> Option<Self> {
        match node.to_value() {
            Value::Map(tops) => tops.iter().all(is_top).then_some(Self(tops)),
            value => (!value.is_true()).then(Self::default),
        }
    }

    fn to_value(&self) -> Value {
        self.0.clone().into()
    }

    fn fault(node: &Node) -> &Node {
        let NodeKind::Map(entries) = &node.value else {
            return node;
        };
        let wrong = entries
            .iter()
            .find(|(name, setting)| !is_top((&name.to_value(), &setting.to_value())));
        wrong.map_or(node, |(name, _)| name)
    }
}

/// `ext_nodes` with its command, or a module in Python.
fn is_top((name, setting): (&Value, &Value)) -> bool {
    let is_command = |setting: &Value| setting.as_str().is_some_and(|text| !text.trim().is_empty());
    is_module_name(name) && (name.as_str() != Some("ext_nodes") || is_command(setting))
}

impl Setting for EventReturners {
    const ALLOWED: &'static str = "the name of a returner, or a list of names: store, rawfile_json, local, pgjsonb, postgres, mysql, or one in Python";

    fn read(node: &Node) -> Option<Self> {
        let names = match node.to_value() {
            Value::Str(name) if !name.is_empty() => vec![Value::Str(name)],
            Value::List(names) => names,
            value => return (!value.is_true()).then(Self::default),
        };
        let known =
            |name: &Value| is_event_returner(name).then(|| name.as_str().map(str::to_owned));
        let names: Option<Vec<String>> = names.iter().map(|name| known(name)?).collect();
        names.map(Self)
    }

    fn to_value(&self) -> Value {
        match self.0.as_slice() {
            [] => "".into(),
            [name] => name.as_str().into(),
            names => Value::List(names.iter().map(|name| name.as_str().into()).collect()),
        }
    }

    fn fault(node: &Node) -> &Node {
        faulty_item(node, |item| is_event_returner(&item.to_value()))
    }
}

fn is_event_returner(name: &Value) -> bool {
    is_module_name(name)
}
