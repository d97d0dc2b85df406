//! Asks a server of etcd, in the second version of its protocol, over
//! `http.query`: addresses, certificates and limits are those of the call.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value, json};

/// A server, as a profile of the configuration describes it.
pub(crate) struct Client<'c, 'a> {
    call: &'c Call<'a>,
    profile: Map,
}

/// What a server says to a request.
pub(crate) enum Answer {
    /// What is at the place, or was.
    Node(Node),
    /// It refuses, with the number of its reason.
    Refused { code: i64, why: String },
    /// Nobody answers, or nothing that is etcd's.
    Silent,
}

/// A key with its value, or a directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) is_dir: bool,
    pub(crate) index: i64,
    pub(crate) nodes: Vec<Self>,
}

/// A value lies below what is no directory.
pub(crate) const NOT_DIR: i64 = 104;

/// Directories of more levels are cut there.
const DEPTH_MAX: usize = 64;

impl Node {
    fn read(node: &Value, depth: usize) -> Self {
        let text = |key: &str| node.get(key).map(python::str).unwrap_or_default();
        let nodes = node.get("nodes").and_then(Value::as_list);
        let nodes = nodes.filter(|_| depth < DEPTH_MAX).unwrap_or_default();
        Self {
            key: text("key"),
            value: text("value"),
            is_dir: node.get("dir").is_some_and(Value::is_true),
            index: node
                .get("modifiedIndex")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            nodes: nodes
                .iter()
                .map(|node| Self::read(node, depth + 1))
                .collect(),
        }
    }

    /// The last part of the key.
    pub(crate) fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}

/// A path as an address has it.
fn quoted(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Names and values as a form has them.
fn form(fields: &[(&str, &str)]) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{}={}", quoted(name), quoted(value).replace('/', "%2F")));
    fields.collect::<Vec<_>>().join("&")
}

impl<'c, 'a> Client<'c, 'a> {
    /// The server that `profile` names; else the one of the options `etcd.*`.
    ///
    /// # Errors
    /// Where the profile asks for the third version of the protocol.
    pub(crate) fn from_call(call: &'c Call<'a>) -> Result<Self, CallError> {
        let named = match call.text_opt("profile") {
            Some(profile) => call.salt("config.option", &[profile.into()], Map::new())?,
            None => Value::Nil,
        };
        let profile = match named {
            Value::Map(profile) => profile,
            _ => {
                let mut found = Map::new();
                for name in [
                    "host",
                    "port",
                    "protocol",
                    "username",
                    "password",
                    "ca",
                    "client_key",
                    "client_cert",
                    "require_v2",
                ] {
                    let name = format!("etcd.{name}");
                    let value = call.salt("config.option", &[name.as_str().into()], Map::new())?;
                    if !matches!(&value, Value::Nil) && value != Value::from("") {
                        found.insert(name, value);
                    }
                }
                found
            }
        };
        let client = Self { call, profile };
        if client.setting("require_v2").is_some_and(|v2| !v2.is_true()) {
            return Err(CallError::command(
                "etcd.require_v2 is False, but only the second version of etcd's protocol is spoken here",
            ));
        }
        Ok(client)
    }

    /// An argument of the call, or else of the profile.
    fn setting(&self, name: &str) -> Option<&Value> {
        let given = self.call.kwargs().get(name);
        given.or_else(|| self.profile.get(&format!("etcd.{name}")))
    }

    fn text(&self, name: &str) -> Option<String> {
        let value = self.setting(name).filter(|value| value.is_true())?;
        Some(python::str(value))
    }

    fn address(&self, key: &str, query: &[(&str, &str)]) -> String {
        let is_secret = self.text("ca").is_some() || self.text("client_cert").is_some();
        let protocol = match (self.text("protocol"), is_secret) {
            (Some(protocol), _) => protocol,
            (None, true) => "https".to_owned(),
            (None, false) => "http".to_owned(),
        };
        let host = self.text("host").unwrap_or_else(|| "127.0.0.1".to_owned());
        let port = self.text("port").unwrap_or_else(|| "2379".to_owned());
        let place = quoted(&format!("/{}", key.trim_matches('/')));
        let mut address = format!("{protocol}://{host}:{port}/v2/keys{place}");
        if !query.is_empty() {
            address += &format!("?{}", form(query));
        }
        address
    }

    fn ask(
        &self,
        method: &str,
        key: &str,
        query: &[(&str, &str)],
        fields: &[(&str, &str)],
        limit: Option<f64>,
    ) -> Result<Answer, CallError> {
        let mut kwargs = Map::from([("method", Value::from(method)), ("status", true.into())]);
        if !fields.is_empty() {
            kwargs.insert("data", form(fields));
            let kind = ("Content-Type", "application/x-www-form-urlencoded");
            kwargs.insert("header_dict", Map::from([kind]));
        }
        for (ours, theirs) in [
            ("username", "username"),
            ("password", "password"),
            ("ca", "ca_bundle"),
        ] {
            if let Some(text) = self.text(ours) {
                kwargs.insert(theirs, text);
            }
        }
        match (self.text("client_cert"), self.text("client_key")) {
            (Some(cert), Some(key)) => {
                kwargs.insert("cert", vec![Value::from(cert), key.into()]);
            }
            (Some(cert), None) => {
                kwargs.insert("cert", cert);
            }
            _ => {}
        }
        if let Some(seconds) = limit {
            kwargs.insert("http_request_timeout", seconds);
        }
        let said = self
            .call
            .salt("http.query", &[self.address(key, query).into()], kwargs)?;
        let body = said.get("body").map(python::str).unwrap_or_default();
        let Ok(Value::Map(body)) = json::read(&body) else {
            let why = said.get("error").map(python::str).unwrap_or_default();
            tracing::warn!("etcd does not answer: {why}");
            return Ok(Answer::Silent);
        };
        let text = |key: &str| body.get(key).map(python::str).unwrap_or_default();
        Ok(match (body.get("node"), body.get("errorCode")) {
            (Some(node), _) => Answer::Node(Node::read(node, 0)),
            (None, Some(code)) => Answer::Refused {
                code: code.as_i64().unwrap_or_default(),
                why: format!("{} : {}", text("message"), text("cause")),
            },
            (None, None) => Answer::Silent,
        })
    }

    /// What is at a place.
    pub(crate) fn get(&self, key: &str, recurse: bool) -> Result<Option<Node>, CallError> {
        Ok(self.found(key, recurse)?.unwrap_or_default())
    }

    /// The same; the outer nothing when nobody answers.
    pub(crate) fn found(
        &self,
        key: &str,
        recurse: bool,
    ) -> Result<Option<Option<Node>>, CallError> {
        let query: &[(&str, &str)] = if recurse {
            &[("recursive", "true"), ("sorted", "true")]
        } else {
            &[("sorted", "true")]
        };
        Ok(match self.ask("GET", key, query, &[], None)? {
            Answer::Node(node) => Some(Some(node)),
            Answer::Refused { .. } => Some(None),
            Answer::Silent => None,
        })
    }

    /// The next change of a place, for so many seconds; without a limit until
    /// there is one.
    pub(crate) fn wait(
        &self,
        key: &str,
        recurse: bool,
        index: Option<i64>,
        limit: Option<f64>,
    ) -> Result<Option<Node>, CallError> {
        let index = index.map(|index| index.to_string());
        let mut query = vec![("wait", "true")];
        if recurse {
            query.push(("recursive", "true"));
        }
        if let Some(index) = &index {
            query.push(("waitIndex", index));
        }
        Ok(match self.ask("GET", key, &query, &[], limit)? {
            Answer::Node(node) => Some(node),
            _ => None,
        })
    }

    /// Sets a value.
    pub(crate) fn set(
        &self,
        key: &str,
        value: &str,
        ttl: Option<i64>,
    ) -> Result<Answer, CallError> {
        let ttl = ttl.map(|ttl| ttl.to_string());
        let mut fields = vec![("value", value)];
        if let Some(ttl) = &ttl {
            fields.push(("ttl", ttl));
        }
        self.ask("PUT", key, &[], &fields, None)
    }

    /// Makes a directory.
    pub(crate) fn make_dir(&self, key: &str, ttl: Option<i64>) -> Result<Answer, CallError> {
        let ttl = ttl.map(|ttl| ttl.to_string());
        let mut fields = vec![("dir", "true")];
        if let Some(ttl) = &ttl {
            fields.push(("ttl", ttl));
        }
        self.ask("PUT", key, &[], &fields, None)
    }

    /// Removes a key, or a directory with what is in it.
    pub(crate) fn remove(&self, key: &str, recurse: bool) -> Result<Answer, CallError> {
        let query: &[(&str, &str)] = if recurse {
            &[("recursive", "true")]
        } else {
            &[]
        };
        self.ask("DELETE", key, query, &[], None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_paths() {
        assert_eq!(quoted("/a b/ü"), "/a%20b/%C3%BC");
        assert_eq!(
            form(&[("value", "a+b&c/d"), ("ttl", "5")]),
            "value=a%2Bb%26c%2Fd&ttl=5"
        );
    }
}
