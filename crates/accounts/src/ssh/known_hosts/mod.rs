//! Hosts that a user, or everyone here, knows by their keys: the part of the
//! execution module `ssh` about `known_hosts` files.
//!
//! Invariant: names are looked up by `ssh-keygen`, since they may be hashed;
//! the file is written here, at once.

mod file;

pub(crate) use file::default;
use file::{File, refused, save};
use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, check_one_line, paths, python};
use halite_crypto::HashType;
use halite_proto::{Map, Value};

use super::key::fingerprint;

const PORT: i64 = 22;

/// How often a server is asked that does not answer.
const SCANS_MAX: u32 = 5;

/// Runs a program and returns all it wrote.
fn run(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    run_as(call, None, words)
}

/// What `ssh-keygen` finds of a host in the file. Whoever could put something
/// else in its place is who looks.
fn search(call: &Call<'_>, file: &File, host: &str) -> Result<String, CallError> {
    if !file.is_there(call)? {
        return Ok(String::new());
    }
    let words = ["ssh-keygen", "-F", host, "-f", &file.shown()];
    run_as(call, file.editor(call)?, &words)
}

/// Has `ssh-keygen` change the file.
fn edit(call: &Call<'_>, file: &File, options: &[&str]) -> Result<String, CallError> {
    let shown = file.shown();
    let words = [&["ssh-keygen"], options, &["-f", &shown]].concat();
    run_as(call, file.editor(call)?, &words)
}

fn run_as(call: &Call<'_>, user: Option<&str>, words: &[&str]) -> Result<String, CallError> {
    let name = words.first().copied().unwrap_or_default();
    if !call.host().has(name) {
        return Err(CallError::NotFound(format!("'{name}' is not in the path")));
    }
    let ran = Program::new(call, words)
        .may_fail()
        .user(user)
        .option("redirect_stderr", true)
        .run()?;
    Ok(ran.stdout)
}

/// The host as the file has it: with a port that is not the usual one.
fn in_file(call: &Call<'_>, port: Option<&Value>) -> String {
    let host = call.text("hostname");
    match port.filter(|port| port.is_true() && **port != Value::from(PORT)) {
        Some(port) => format!("[{host}]:{}", python::str(port)),
        None => host,
    }
}

/// The keys in what `ssh-keygen -F` or `ssh-keyscan` wrote.
fn entries(call: &Call<'_>, text: &str) -> Result<Vec<Map>, CallError> {
    let named = call.text_opt("fingerprint_hash_type");
    let kind = match named.map(|named| named.to_lowercase()) {
        None => HashType::Sha256,
        Some(named) => HashType::parse(&named).map_err(|_| {
            CallError::command(format!(
                "The fingerprint_hash_type {named} is not supported."
            ))
        })?,
    };
    Ok(read_entries(text, kind))
}

/// The keys of the lines of a text, with their fingerprints. Comments are passed over,
/// and so is what is no key.
pub(crate) fn read_entries(text: &str, kind: HashType) -> Vec<Map> {
    let read = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [host, enc, key] = words.as_slice() else {
            return None;
        };
        if host.starts_with('#') {
            return None;
        }
        Some(Map::from([
            ("hostname", Value::from(*host)),
            ("key", (*key).into()),
            ("enc", (*enc).into()),
            ("fingerprint", fingerprint(kind, key)?.into()),
        ]))
    };
    text.lines().filter_map(read).collect()
}

fn known(call: &Call<'_>, file: &File) -> Result<Vec<Map>, CallError> {
    let host = in_file(call, call.get("port"));
    let text = search(call, file, &host)?;
    entries(call, &text)
}

fn scan(call: &Call<'_>) -> Result<Vec<Map>, CallError> {
    let host = call.text("hostname");
    if host.starts_with('-') {
        // `ssh-keyscan` takes it for an option.
        return Err(CallError::invocation(format!("not a host name: {host:?}")));
    }
    let mut words = vec!["ssh-keyscan".to_owned()];
    for (option, name) in [("-p", "port"), ("-t", "enc")] {
        if let Some(value) = call.text_opt(name) {
            words.extend([option.to_owned(), value]);
        }
    }
    if call.flag("hash_known_hosts") {
        words.push("-H".to_owned());
    }
    words.extend(["-T".to_owned(), call.text("timeout"), host]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut text = String::new();
    for _ in 0..SCANS_MAX {
        text = run(call, &words)?;
        if !text.is_empty() {
            break;
        }
    }
    entries(call, &text)
}

/// A list, or nothing if there is nothing in it.
fn listed(entries: Vec<Map>) -> Value {
    if entries.is_empty() {
        return Value::Nil;
    }
    entries
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

fn all<'a>(entries: &'a [Map], field: &'a str) -> impl Iterator<Item = &'a Value> {
    entries.iter().filter_map(move |entry| entry.get(field))
}

pub(crate) fn get_known_host_entries(call: &Call<'_>) -> CallResult {
    match File::of(call) {
        Ok(file) => Ok(listed(known(call, &file)?)),
        Err(why) => Ok(why.into()),
    }
}

pub(crate) fn recv_known_host_entries(call: &Call<'_>) -> CallResult {
    Ok(listed(scan(call)?))
}

pub(crate) fn check_known_host(call: &Call<'_>) -> CallResult {
    if !call.flag("hostname") {
        return Ok(refused("hostname argument required").into());
    }
    let file = match File::of(call) {
        Ok(file) => file,
        Err(why) => return Ok(why.into()),
    };
    let entries = known(call, &file)?;
    let wanted = ["key", "fingerprint"]
        .into_iter()
        .find(|name| call.flag(name));
    Ok(match wanted {
        _ if entries.is_empty() => "add",
        Some(name) if !all(&entries, name).any(|known| known == call.arg(name)) => "update",
        _ => "exists",
    }
    .into())
}

pub(crate) fn rm_known_host(call: &Call<'_>) -> CallResult {
    if !call.flag("hostname") {
        return Ok(refused("hostname argument required").into());
    }
    let file = match File::of(call) {
        Ok(file) => file,
        Err(why) => return Ok(why.into()),
    };
    let Some(mode) = file.mode() else {
        return Ok(file.missing().into());
    };
    let host = in_file(call, call.get("port"));
    let said = edit(call, &file, &["-R", &host])?;
    file.restore(call, mode)?;
    Ok(Map::from([("status", "removed"), ("comment", said.as_str())]).into())
}

pub(crate) fn hash_known_hosts(call: &Call<'_>) -> CallResult {
    let file = match File::of(call) {
        Ok(file) => file,
        Err(why) => return Ok(why.into()),
    };
    let Some(mode) = file.mode() else {
        return Ok(file.missing().into());
    };
    let said = hash(call, &file, mode)?;
    Ok(Map::from([("status", "updated"), ("comment", said.as_str())]).into())
}

fn hash(call: &Call<'_>, file: &File, mode: u32) -> Result<String, CallError> {
    let said = edit(call, file, &["-H"])?;
    file.restore(call, mode)?;
    Ok(said)
}

pub(crate) fn set_known_host(call: &Call<'_>) -> CallResult {
    if let Some(refusal) = unusable_arguments(call)? {
        return Ok(refusal.into());
    }
    let file = match File::of(call) {
        Ok(file) => file,
        Err(why) => return Ok(why.into()),
    };
    let stored = known(call, &file)?;
    let mut new = match wanted_entries(call, &stored)? {
        Entries::Stored(keys) => {
            let found = Map::from([("status", Value::from("exists")), ("keys", keys.into())]);
            return Ok(found.into());
        }
        Entries::Refused(refusal) => return Ok(refusal.into()),
        Entries::New(new) => new,
    };
    let mode = file.mode();
    let mut text = match mode {
        Some(_) => without(call, &file, call.arg("enc"))?,
        None => String::new(),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for entry in &mut new {
        text.push_str(&line(call, entry));
    }
    save(call, &file, &text, mode)?;
    if call.flag("key") && call.flag("hash_known_hosts") {
        hash(call, &file, mode.unwrap_or(0o600))?;
    }
    Ok(Map::from([
        ("status", Value::from("updated")),
        ("old", listed(stored)),
        ("new", listed(new)),
    ])
    .into())
}

/// The answer to arguments that no entry can be made of.
///
/// # Errors
/// When one has more than one line.
fn unusable_arguments(call: &Call<'_>) -> Result<Option<Map>, CallError> {
    if !call.flag("hostname") {
        return Ok(Some(refused("hostname argument required")));
    }
    if !is_usual_port(call) && call.flag("hash_known_hosts") {
        return Ok(Some(refused(
            "argument port can not be used in conjunction with argument hash_known_hosts",
        )));
    }
    for name in ["hostname", "port", "enc", "key"] {
        check_one_line(name, &call.text(name))?;
    }
    // A line without it would be of no use.
    let lacks_enc = call.flag("key") && !call.flag("enc");
    Ok(lacks_enc.then(|| refused("Required argument \"enc\" if using \"key\" argument.")))
}

fn is_usual_port(call: &Call<'_>) -> bool {
    let port = call.arg("port");
    port.is_nil() || *port == Value::from(PORT)
}

/// Which entries the file is to have for a host.
enum Entries {
    /// Those that it has, with these keys.
    Stored(Vec<Value>),
    New(Vec<Map>),
    /// None: the host shows no key, or another one.
    Refused(Map),
}

fn wanted_entries(call: &Call<'_>, stored: &[Map]) -> Result<Entries, CallError> {
    let (key, enc, print) = (call.arg("key"), call.arg("enc"), call.arg("fingerprint"));
    let keys: Vec<Value> = stored
        .iter()
        .filter(|entry| enc.is_nil() || entry.get("enc") == Some(enc))
        .filter_map(|entry| entry.get("key").cloned())
        .collect();
    let lacks_print = print.is_true() && !all(stored, "fingerprint").any(|known| known == print);
    let lacks_key = key.is_true() && !keys.contains(key);
    let must = stored.is_empty() || lacks_print || lacks_key;
    let must_look = !must && key.is_nil() && print.is_nil();
    if !must && !must_look {
        return Ok(Entries::Stored(keys));
    }
    if key.is_true() {
        let host = call.arg("hostname").clone();
        return Ok(Entries::New(vec![Map::from([
            ("hostname", host),
            ("enc", enc.clone()),
            ("key", key.clone()),
        ])]));
    }
    let found = scan(call)?;
    if found.is_empty() {
        return Ok(Entries::Refused(refused(
            "Unable to receive remote host keys",
        )));
    }
    if print.is_true() && !all(&found, "fingerprint").any(|known| known == print) {
        return Ok(Entries::Refused(refused(
            "Remote host public keys found but none of their fingerprints match the one you have provided",
        )));
    }
    if must_look
        && all(&found, "key").all(|key| keys.contains(key))
        && keys.iter().all(|key| all(&found, "key").any(|k| k == key))
    {
        return Ok(Entries::Stored(keys));
    }
    Ok(Entries::New(found))
}

/// The line of an entry, which gets its port if that is not the usual one.
fn line(call: &Call<'_>, entry: &mut Map) -> String {
    let get = |name| entry.get(name).map(python::str).unwrap_or_default();
    let mut host = get("hostname");
    let rest = format!("{} {}", get("enc"), get("key"));
    if !call.flag("hash_known_hosts") && !is_usual_port(call) && !host.contains(':') {
        let port = call.arg("port");
        entry.insert("port", port.clone());
        host = format!("[{host}]:{}", python::str(port));
    }
    format!("{host} {rest}\n")
}

/// The file without the lines of the host, or of its keys of one kind.
fn without(call: &Call<'_>, file: &File, enc: &Value) -> Result<String, CallError> {
    let host = in_file(call, call.get("port"));
    let found = search(call, file, &host)?;
    let mut gone = Vec::new();
    let mut lines = found.lines();
    while let Some(line) = lines.next() {
        let number = line
            .strip_prefix('#')
            .and_then(|line| line.rsplit(' ').next())
            .and_then(|word| word.parse::<usize>().ok());
        let Some(number) = number else {
            continue;
        };
        let kind = lines.next().and_then(|line| {
            let mut words = line.split_whitespace();
            words.find(|word| !word.starts_with('@'))?;
            words.next()
        });
        if enc.is_nil() || kind == enc.as_str() {
            gone.push(number);
        }
    }
    let text = paths::read_to_string(&file.path).map_err(|error| {
        file.failed(
            "Couldn't remove old entry(ies) from known hosts file",
            &error,
        )
    })?;
    let kept = text
        .split_inclusive('\n')
        .enumerate()
        .filter(|(at, _)| !gone.contains(&(at + 1)));
    Ok(kept.map(|(_, line)| line).collect())
}
