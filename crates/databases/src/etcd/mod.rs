//! Keys and values of etcd: the execution module `etcd`.

mod client;

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) use client::{Answer, Client, Node};

pub(crate) const MODULE: Module = Module {
    name: "etcd",
    functions: &[
        Function::new(
            "etcd.get",
            "(key, recurse=False, profile=None, **kwargs)",
            get,
            "The value of a key; with recurse what is below it. profile names a map of the\nconfiguration: etcd.host, etcd.port, etcd.username, etcd.password, etcd.ca,\netcd.client_key, etcd.client_cert.",
        ),
        Function::new(
            "etcd.ls",
            "(path='/', profile=None, **kwargs)",
            ls,
            "What a directory holds; the names of directories end with a slash.",
        ),
        Function::new(
            "etcd.rm",
            "(key, recurse=False, profile=None, **kwargs)",
            rm,
            "Removes a key; with recurse a directory with what is in it.",
        ),
        Function::new(
            "etcd.set",
            "(key, value, profile=None, ttl=None, directory=False, **kwargs)",
            set,
            "Sets a key, for ttl seconds if that is given; with directory makes one.",
        ),
        Function::new(
            "etcd.tree",
            "(path='/', profile=None, **kwargs)",
            |call| {
                Ok(Client::from_call(call)?
                    .get(&call.text("path"), true)?
                    .map_or(Value::Nil, |node| tree(&node)))
            },
            "Everything below a path, as maps.",
        ),
        Function::new(
            "etcd.update",
            "(fields, path='', profile=None, **kwargs)",
            update,
            "Sets the keys that a map has, and the maps in it.",
        ),
        Function::new(
            "etcd.watch",
            "(key, recurse=False, profile=None, timeout=0, index=None, **kwargs)",
            watch,
            "Waits for a change of a key, for timeout seconds if that is given.",
        ),
    ],
};

/// A directory as a map; a key by its name.
fn tree(node: &Node) -> Value {
    let below = |node: &Node| match node.is_dir {
        true => tree(node),
        false => node.value.as_str().into(),
    };
    if !node.is_dir {
        return Map::from([(node.name(), node.value.as_str())]).into();
    }
    let all = node.nodes.iter().map(|node| (node.name(), below(node)));
    all.collect::<Map>().into()
}

fn get(call: &Call<'_>) -> CallResult {
    let recurse = call.flag("recurse");
    let found = Client::from_call(call)?.get(&call.text("key"), recurse)?;
    Ok(match found {
        Some(node) if recurse => tree(&node),
        Some(node) if !node.is_dir => node.value.into(),
        _ => Value::Nil,
    })
}

fn ls(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    let node = match Client::from_call(call)?.found(&path, false)? {
        None => return Ok(Value::Nil),
        Some(None) => return Ok(Map::new().into()),
        Some(Some(node)) => node,
    };
    let entry = |node: &Node| match node.is_dir {
        true => (format!("{}/", node.key), Value::from(Map::new())),
        false => (node.key.clone(), node.value.as_str().into()),
    };
    let held: Map = match node.is_dir {
        true => node.nodes.iter().map(entry).collect(),
        false => [entry(&node)].into_iter().collect(),
    };
    Ok(Map::from([(path, held)]).into())
}

fn rm(call: &Call<'_>) -> CallResult {
    let answer = Client::from_call(call)?.remove(&call.text("key"), call.flag("recurse"))?;
    Ok(match answer {
        Answer::Node(_) => true.into(),
        Answer::Refused { .. } | Answer::Silent => Value::Nil,
    })
}

/// A value as etcd keeps it.
fn text(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        other => python::str(other),
    }
}

/// What came of a value that was to be set: it, or nothing.
fn stored(answer: Answer) -> CallResult {
    match answer {
        Answer::Node(node) => Ok(node.value.into()),
        Answer::Refused {
            code: client::NOT_DIR,
            why,
        } => Err(CallError::exception("etcd.EtcdNotDir", why)),
        Answer::Refused { .. } | Answer::Silent => Ok(Value::Nil),
    }
}

/// Whether there is a directory now.
fn made(client: &Client<'_, '_>, key: &str, ttl: Option<i64>) -> CallResult {
    Ok(match client.make_dir(key, ttl)? {
        Answer::Node(_) => true.into(),
        Answer::Refused { .. } => match client.get(key, false)? {
            Some(node) if node.is_dir => true.into(),
            _ => Value::Nil,
        },
        Answer::Silent => Value::Nil,
    })
}

fn set(call: &Call<'_>) -> CallResult {
    let client = Client::from_call(call)?;
    let ttl = call.get("ttl").and_then(Value::as_i64);
    let key = call.text("key");
    match call.flag("directory") {
        true => made(&client, &key, ttl),
        false => stored(client.set(&key, &text(call.arg("value")), ttl)?),
    }
}

/// The keys of a map and of the maps in it, with their values; an empty map is
/// a directory.
fn flattened<'m>(fields: &'m Map, path: &str, into: &mut Vec<(String, &'m Value)>) {
    for (name, value) in fields {
        let name = python::str(name);
        let key = format!("{path}/{}", name.trim_matches('/'));
        match value {
            Value::Map(inner) if !inner.is_empty() => flattened(inner, &key, into),
            value => into.push((key, value)),
        }
    }
}

fn update(call: &Call<'_>) -> CallResult {
    let client = Client::from_call(call)?;
    let Value::Map(fields) = call.arg("fields") else {
        return Ok(Value::Nil);
    };
    let path = call.text("path");
    let path = match path.trim_matches('/') {
        "" => String::new(),
        path => format!("/{path}"),
    };
    let mut all = Vec::new();
    flattened(fields, &path, &mut all);
    let mut done = Map::new();
    for (key, value) in all {
        let stored = match value {
            Value::Map(_) => made(&client, &key, None)?,
            value => stored(client.set(&key, &text(value), None)?)?,
        };
        if stored != Value::Nil {
            done.insert(key, stored);
        }
    }
    Ok(match done.is_empty() {
        true => Value::Nil,
        false => done.into(),
    })
}

fn watch(call: &Call<'_>) -> CallResult {
    let client = Client::from_call(call)?;
    let seconds = python::float(call.arg("timeout"))?;
    let limit = Some(seconds).filter(|seconds| *seconds > 0.0);
    let index = call.get("index").and_then(Value::as_i64);
    let found = client.wait(&call.text("key"), call.flag("recurse"), index, limit)?;
    Ok(found.map_or(Value::Nil, |node| {
        Map::from([
            ("key", Value::from(node.key.as_str())),
            ("value", node.value.as_str().into()),
            ("changed", true.into()),
            ("mIndex", node.index.into()),
            ("dir", node.is_dir.into()),
        ])
        .into()
    }))
}
