//! Keys that may sign in as a user: the execution module `ssh`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use halite_modules::host::replace_file;
use halite_modules::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use crate::accounts::db;
use crate::{known_hosts, ssh_files};

const CHECK: &str = "(user, key, enc, comment, options, config='.ssh/authorized_keys', cache_keys=None, fingerprint_hash_type=None)";
const SET: &str = "(user, key, enc='ssh-rsa', comment='', options=None, config='.ssh/authorized_keys', cache_keys=None, fingerprint_hash_type=None)";

pub(crate) const MODULE: Module = Module {
    name: "ssh",
    functions: &[
        Function::new(
            "ssh.auth_keys",
            "(user=None, config='.ssh/authorized_keys', fingerprint_hash_type=None)",
            auth_keys_,
            "The keys that may sign in as a user.",
        ),
        Function::new(
            "ssh.check_key",
            CHECK,
            check_key_,
            "Whether a key is to be added, updated or there.",
        ),
        Function::new(
            "ssh.check_key_file",
            "(user, source, config='.ssh/authorized_keys', saltenv='base', fingerprint_hash_type=None)",
            ssh_files::check_key_file,
            "Whether the keys of a file are to be added, updated or there.",
        ),
        Function::new(
            "ssh.check_known_host",
            "(user=None, hostname=None, key=None, fingerprint=None, config=None, port=None, fingerprint_hash_type=None)",
            known_hosts::check_known_host,
            "Whether a host is to be added to those that are known, updated or there.",
        ),
        Function::new(
            "ssh.get_known_host_entries",
            "(user, hostname, config=None, port=None, fingerprint_hash_type=None)",
            known_hosts::get_known_host_entries,
            "The keys by which a host is known.",
        ),
        Function::new(
            "ssh.hash_known_hosts",
            "(user=None, config=None)",
            known_hosts::hash_known_hosts,
            "Hashes the names of the hosts that are known.",
        ),
        Function::new(
            "ssh.host_keys",
            "(keydir=None, private=True, certs=True)",
            ssh_files::host_keys,
            "The keys of this host.",
        ),
        Function::new(
            "ssh.key_is_encrypted",
            "(key)",
            ssh_files::key_is_encrypted,
            "Whether a private key needs a passphrase.",
        ),
        Function::new(
            "ssh.recv_known_host_entries",
            "(hostname, enc=None, port=None, hash_known_hosts=True, timeout=5, fingerprint_hash_type=None)",
            known_hosts::recv_known_host_entries,
            "Asks a host for its keys.",
        ),
        Function::new(
            "ssh.rm_auth_key",
            "(user, key, config='.ssh/authorized_keys', fingerprint_hash_type=None)",
            rm_auth_key_,
            "Removes a key of a user.",
        ),
        Function::new(
            "ssh.rm_auth_key_from_file",
            "(user, source, config='.ssh/authorized_keys', saltenv='base', fingerprint_hash_type=None)",
            ssh_files::rm_auth_key_from_file,
            "Removes the keys of a file from those of a user.",
        ),
        Function::new(
            "ssh.rm_known_host",
            "(user=None, hostname=None, config=None, port=None)",
            known_hosts::rm_known_host,
            "Removes a host from those that are known.",
        ),
        Function::new(
            "ssh.set_auth_key",
            SET,
            set_auth_key_,
            "Adds a key of a user, or changes it.",
        ),
        Function::new(
            "ssh.set_auth_key_from_file",
            "(user, source, config='.ssh/authorized_keys', saltenv='base', fingerprint_hash_type=None, **kwargs)",
            ssh_files::set_auth_key_from_file,
            "Adds the keys of a file to those of a user.",
        ),
        Function::new(
            "ssh.set_known_host",
            "(user=None, hostname=None, fingerprint=None, key=None, port=None, enc=None, config=None, hash_known_hosts=True, timeout=5, fingerprint_hash_type=None)",
            known_hosts::set_known_host,
            "Makes a host known by a key, or by those it has if asked for them.",
        ),
        Function::new(
            "ssh.user_keys",
            "(user=None, pubfile=None, prvfile=None)",
            ssh_files::user_keys,
            "The keys of users.",
        ),
    ],
};

/// A key with what stands around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) key: String,
    pub(crate) enc: String,
    pub(crate) comment: String,
    pub(crate) options: Vec<String>,
}

impl Key {
    /// The line of the file.
    fn line(&self) -> String {
        let options = if self.options.is_empty() {
            String::new()
        } else {
            format!("{} ", self.options.join(","))
        };
        let line = format!("{options}{} {} {}", self.enc, self.key, self.comment);
        format!("{}\n", line.trim_end())
    }
}

/// Parts a line at its kind of key: what is before it, and the rest.
pub(crate) fn split_line(text: &str) -> Option<(&str, &str)> {
    for (at, _) in text.char_indices() {
        let rest = &text[at..];
        let kind = rest.strip_prefix("sk-").unwrap_or(rest);
        if !kind.starts_with("ssh-") && !kind.starts_with("ecds") {
            continue;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '.' | '-')));
        let Some(end) = end else {
            continue;
        };
        if rest[end..].starts_with(char::is_whitespace) && rest[end..].chars().nth(1).is_some() {
            let before = &text[..at];
            return Some((
                before.strip_suffix(char::is_whitespace).unwrap_or(before),
                rest,
            ));
        }
    }
    None
}

/// Options, parted at commas that no quotes enclose.
fn split_options(text: &str) -> Vec<String> {
    let (mut options, mut current, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                current.push(c);
            }
            ',' if !quoted => options.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    if !current.is_empty() {
        options.push(current);
    }
    options
}

/// Reads a line of the file.
pub(crate) fn parse(line: &str) -> Option<Key> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (before, rest) = split_line(line)?;
    let mut words = rest.split_whitespace();
    let enc = words.next()?.to_owned();
    let key = words.next()?.to_owned();
    if !is_base64(&key) {
        return None;
    }
    Some(Key {
        key,
        enc,
        comment: words.collect::<Vec<_>>().join(" "),
        options: split_options(before),
    })
}

/// Whether a text is whole: what does not decode is no key.
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let padding = text.len() - bare.len();
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    bare.bytes().all(known) && bare.len() % 4 != 1 && (bare.len() + padding).is_multiple_of(4)
}

/// The file of a user's keys.
fn file(call: &Call<'_>, user: &db::User, config: &str) -> PathBuf {
    let named = config
        .replace("%u", &user.name)
        .replace("%h", &user.home)
        .replace("%%", "%");
    let path = if named.starts_with('/') {
        PathBuf::from(named)
    } else {
        PathBuf::from(&user.home).join(named)
    };
    call.host().path(path)
}

fn keys(call: &Call<'_>, user: &db::User, config: &str) -> Vec<Key> {
    let text = std::fs::read_to_string(file(call, user, config)).unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

/// `exists`, `update` or `add`.
pub(crate) fn check(call: &Call<'_>, user: &str, key: &Key, config: &str) -> &'static str {
    let found = db::user(call, user)
        .map(|user| keys(call, &user, config))
        .unwrap_or_default()
        .into_iter()
        .find(|known| known.key == key.key);
    match found {
        None => "add",
        Some(known) if known.line() == key.line() => "exists",
        Some(_) => "update",
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
        && text.len().is_multiple_of(4)
}

fn save(path: &std::path::Path, text: &str) -> Result<(), CallError> {
    replace_file(path, text.as_bytes())
        .map_err(|error| CallError::command(format!("{}: {error}", path.display())))
}

/// Gives a new file or directory to a user.
fn give(
    call: &Call<'_>,
    path: &std::path::Path,
    user: &db::User,
    mode: u32,
) -> Result<(), CallError> {
    let failed = |error: std::io::Error| CallError::command(format!("{}: {error}", path.display()));
    if call.host().is_real() {
        let id = |id: i64| u32::try_from(id).ok();
        std::os::unix::fs::chown(path, id(user.uid), id(user.gid)).map_err(failed)?;
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Adds or changes a key; `new`, `replace`, `no change`, `fail` or `invalid`.
pub(crate) fn set(
    call: &Call<'_>,
    user: &str,
    key: &Key,
    config: &str,
) -> Result<&'static str, CallError> {
    if key.key.split_whitespace().count() > 1 {
        return Ok("invalid");
    }
    let Some(user) = db::user(call, user) else {
        return Ok("fail");
    };
    let path = file(call, &user, config);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let known = text
        .lines()
        .filter_map(parse)
        .find(|known| known.key == key.key);
    if let Some(known) = known {
        if known.line() == key.line() {
            return Ok("no change");
        }
        let new: String = text
            .lines()
            .map(|line| match parse(line) {
                Some(known) if known.key == key.key => key.line(),
                _ => format!("{line}\n"),
            })
            .collect();
        save(&path, &new)?;
        return Ok("replace");
    }
    if !is_key(&key.key) {
        return Ok("invalid");
    }
    let home = call.host().path(&user.home);
    if path.starts_with(&home) && !home.is_dir() {
        return Ok("fail");
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
        std::fs::create_dir_all(parent)
            .map_err(|error| CallError::command(format!("{}: {error}", parent.display())))?;
        give(call, parent, &user, 0o700)?;
    }
    let is_new = !path.is_file();
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let line = match text.is_empty() {
        // The first one ends with what is before its remark, as Salt's does.
        true if key.comment.is_empty() => format!("{} \n", key.line().trim_end()),
        _ => key.line(),
    };
    save(&path, &format!("{text}{end}{line}"))?;
    if is_new {
        give(call, &path, &user, 0o600)?;
    }
    Ok("new")
}

/// Removes a key; what is to be said about it.
pub(crate) fn remove(
    call: &Call<'_>,
    user: &str,
    key: &str,
    config: &str,
) -> Result<&'static str, CallError> {
    let Some(user) = db::user(call, user) else {
        return Ok("Key not present");
    };
    let path = file(call, &user, config);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let is_it = |line: &&str| parse(line).is_some_and(|known| known.key == key);
    if !text.lines().any(|line| is_it(&line)) {
        return Ok("Key not present");
    }
    let new: String = text
        .split_inclusive('\n')
        .filter(|line| !is_it(&line.trim_end_matches('\n')))
        .collect();
    save(&path, &new)?;
    Ok("Key removed")
}

/// The words of a list or of comma separated text.
pub(crate) fn options_of(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Str(text) if !text.is_empty() => split_options(text),
        _ => Vec::new(),
    }
}

/// `rsa` is `ssh-rsa`, and so on.
pub(crate) fn kind(enc: &str) -> String {
    match enc {
        "r" | "rsa" => "ssh-rsa".to_owned(),
        "d" | "dsa" | "dss" => "ssh-dss".to_owned(),
        "e" | "ed25519" => "ssh-ed25519".to_owned(),
        "ecdsa" => "ecdsa-sha2-nistp256".to_owned(),
        other => other.to_owned(),
    }
}

fn key_of(call: &Call<'_>) -> Key {
    Key {
        key: call.text("key"),
        enc: kind(&call.text("enc")),
        comment: call.text_opt("comment").unwrap_or_default(),
        options: options_of(call.arg("options")),
    }
}

fn check_key_(call: &Call<'_>) -> CallResult {
    Ok(check(
        call,
        &call.text("user"),
        &key_of(call),
        &call.text("config"),
    )
    .into())
}

fn set_auth_key_(call: &Call<'_>) -> CallResult {
    Ok(set(
        call,
        &call.text("user"),
        &key_of(call),
        &call.text("config"),
    )?
    .into())
}

fn rm_auth_key_(call: &Call<'_>) -> CallResult {
    Ok(remove(
        call,
        &call.text("user"),
        &call.text("key"),
        &call.text("config"),
    )?
    .into())
}

/// The SHA-256 of a key, as pairs of digits; nothing if it is none.
fn fingerprint(key: &str) -> Option<String> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let bytes = engine.decode(key).ok()?;
    let hex = halite_crypto::hash_hex(halite_crypto::HashType::Sha256, &bytes);
    let pairs: Vec<&str> = (0..hex.len() / 2)
        .filter_map(|at| hex.get(2 * at..2 * at + 2))
        .collect();
    Some(pairs.join(":"))
}

fn auth_keys_(call: &Call<'_>) -> CallResult {
    let Some(user) = db::user(call, &call.text("user")) else {
        return Ok(Map::new().into());
    };
    let all = keys(call, &user, &call.text("config"))
        .into_iter()
        .map(|key| {
            let options = key.options.into_iter().map(Value::from).collect();
            let about = Map::from([
                ("enc", Value::from(key.enc)),
                ("comment", key.comment.into()),
                ("options", Value::List(options)),
                ("fingerprint", fingerprint(&key.key).into()),
            ]);
            (key.key, about)
        });
    Ok(all.collect::<Map>().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let key = parse("from=\"a,b\",no-pty ssh-rsa AAAA me at home").unwrap();
        assert_eq!(key.options, ["from=\"a,b\"", "no-pty"]);
        assert_eq!((key.enc.as_str(), key.key.as_str()), ("ssh-rsa", "AAAA"));
        assert_eq!(key.comment, "me at home");
        assert_eq!(
            parse("sk-ssh-ed25519@openssh.com AAAA").unwrap().enc,
            "sk-ssh-ed25519@openssh.com"
        );
        assert_eq!(parse("# x"), None);
        // What does not decode is no key, as with Salt.
        assert_eq!(parse("ssh-rsa AAAAB"), None);
        assert_eq!(parse("ssh-rsa AAAAB3N"), None);
        assert!(parse("ssh-rsa AAAAB3N= x").is_some());
        assert_eq!(split_line("AAAA"), None);
    }
}
