//! Keys that apt knows: gpg's data about them, and their removal.
//!
//! Invariant: a file is only removed after gpg has shown that the key is in it.

use std::path::{Path, PathBuf};

use halite_call::host::Program;
use halite_call::{Call, CallError, os_text, paths, python};
use halite_proto::{Map, Value};

use super::keys::KEYRINGS;

/// How many characters an id of a key has: the short one and the long one.
const ID_LENGTHS: [usize; 2] = [8, 16];

/// The keys by their ids; nothing where the directory of keys is not there.
pub(crate) fn list(
    call: &Call<'_>,
    aptkey: bool,
    directory: Option<&str>,
) -> Result<Option<Map>, CallError> {
    if !aptkey {
        let Some(files) = keyrings(call, directory) else {
            return Ok(None);
        };
        let mut keys = Map::new();
        for file in files {
            keys.extend(parse(&shown(call, &file)?));
        }
        return Ok(Some(keys));
    }
    let words = [
        "apt-key",
        "adv",
        "--batch",
        "--list-public-keys",
        "--with-fingerprint",
        "--with-fingerprint",
        "--with-colons",
        "--fixed-list-mode",
    ];
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        return Err(CallError::command(format!(
            "Failed to list the keys of repositories: {}",
            ran.stderr
        )));
    }
    Ok(Some(parse(&ran.stdout)))
}

/// Removes a key; whether it was there.
pub(crate) fn delete(
    call: &Call<'_>,
    id: &str,
    aptkey: bool,
    directory: Option<&str>,
) -> Result<bool, CallError> {
    if !aptkey {
        return delete_file(call, id, directory);
    }
    let ran = Program::new(call, &["apt-key", "del", id]).run()?;
    if ran.ok() {
        return Ok(true);
    }
    Err(CallError::command(format!(
        "Failed to remove keyid {id}: {}",
        ran.stderr
    )))
}

/// Removes the first file that has the key in it.
fn delete_file(call: &Call<'_>, id: &str, directory: Option<&str>) -> Result<bool, CallError> {
    if !ID_LENGTHS.contains(&id.chars().count()) {
        tracing::error!(id, "The keyid needs to be either 8 or 16 characters");
        return Ok(false);
    }
    for file in keyrings(call, directory).unwrap_or_default() {
        let keys = parse(&shown(call, &file)?);
        let has_it = keys
            .keys()
            .any(|known| known.as_str().is_some_and(|known| known.ends_with(id)));
        if has_it {
            paths::remove_file(call.host().path(&file)).map_err(|error| {
                let why = os_text(&error, &file);
                CallError::command(format!("Failed to remove {}: {why}", file.display()))
            })?;
            return Ok(true);
        }
    }
    tracing::error!("Could not find the key file for keyid: {id}");
    Ok(false)
}

/// What is in the directory of keys, in order; nothing where it is not there.
fn keyrings(call: &Call<'_>, directory: Option<&str>) -> Option<Vec<PathBuf>> {
    let directory = Path::new(directory.unwrap_or(KEYRINGS));
    let Ok(entries) = std::fs::read_dir(call.host().path(directory)) else {
        tracing::error!(
            "The directory {} does not exist. Please create this directory only writable by root",
            directory.display()
        );
        return None;
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| directory.join(entry.file_name()))
        .collect();
    files.sort();
    Some(files)
}

/// What gpg says of a file; of one that it cannot read, it says nothing.
pub(super) fn shown(call: &Call<'_>, file: &Path) -> Result<String, CallError> {
    let file = file.display().to_string();
    let words = [
        "gpg",
        "--no-default-keyring",
        "--keyring",
        &file,
        "--list-keys",
        "--with-colons",
    ];
    Ok(Program::new(call, &words).may_fail().run()?.stdout)
}

/// The keys of a list with colons. Of several names of a key, and of several
/// keys below it, the last ones stay.
fn parse(text: &str) -> Map {
    let mut keys = Map::new();
    let mut current: Option<(String, Map)> = None;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        match (field(0), &mut current) {
            ("pub", _) => {
                keys.extend(current.take());
                let id = field(4);
                current = (!id.is_empty()).then(|| (id.to_owned(), described(&fields)));
            }
            ("sub", Some((_, key))) => {
                key.insert("subkey", described(&fields));
            }
            ("fpr", Some((_, key))) => {
                let fingerprint = text_or_nil(field(9));
                match key.get_mut("subkey") {
                    Some(Value::Map(below)) => below.insert("fingerprint", fingerprint),
                    _ => key.insert("fingerprint", fingerprint),
                };
            }
            ("uid", Some((_, key))) => {
                key.insert("uid", text_or_nil(field(9)));
                key.insert("uid_hash", text_or_nil(field(7)));
            }
            _ => {}
        }
    }
    keys.extend(current);
    keys
}

/// What the line of a key says.
fn described(fields: &[&str]) -> Map {
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    Map::from([
        ("algorithm", number_or_text(field(3))),
        ("bits", number_or_text(field(2))),
        ("capability", text_or_nil(field(11))),
        ("date_creation", number_or_text(field(5))),
        ("date_expiration", number_or_text(field(6))),
        ("keyid", field(4).into()),
        ("validity", text_or_nil(field(1))),
    ])
}

fn text_or_nil(text: &str) -> Value {
    if text.is_empty() {
        Value::Nil
    } else {
        text.into()
    }
}

fn number_or_text(text: &str) -> Value {
    text.parse::<i64>()
        .map_or_else(|_| text_or_nil(text), Value::from)
}

/// The id that the arguments of a removal name.
///
/// # Errors
/// When they name none, or leave it to Launchpad.
pub(crate) fn wanted(call: &Call<'_>, kwargs: &Map) -> Result<Value, CallError> {
    if kwargs.get("keyid_ppa").is_some_and(Value::is_true) {
        if !call.text("name").starts_with("ppa:") {
            return Err(CallError::invocation(
                "keyid_ppa requires that a PPA be passed",
            ));
        }
        return Err(CallError::invocation(
            "keyid_ppa is not there, Launchpad is not asked: name the key with keyid",
        ));
    }
    // To apt-key, no id is every key.
    let id = kwargs.get("keyid").filter(|id| !python::str(id).is_empty());
    id.filter(|id| !id.is_nil())
        .cloned()
        .ok_or_else(|| CallError::invocation("keyid or keyid_ppa and PPA name must be passed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_no_key_says_nothing() {
        let text = "tru::1:1:0:3:1:5\nuid:-::::1::AA::Early::::::::::0:\nfpr:::::::::AAAA:\n\
                    sub:-:255:18:818C14E425E138F0:1::::::e:\npub:-:x1\nfpr:::::::::BBBB:\n\
                    pub:-:99999999999999999999:one:DC0C34D602824086\nfpr\n\nrubbish";
        let keys = parse(text);
        let expected = Map::from([(
            "DC0C34D602824086",
            Map::from([
                ("algorithm", Value::from("one")),
                ("bits", "99999999999999999999".into()),
                ("capability", Value::Nil),
                ("date_creation", Value::Nil),
                ("date_expiration", Value::Nil),
                ("keyid", "DC0C34D602824086".into()),
                ("validity", "-".into()),
                ("fingerprint", Value::Nil),
            ]),
        )]);
        assert_eq!(keys, expected);
    }

    #[test]
    fn a_time_after_2106_is_a_number() {
        assert_eq!(number_or_text("4294967296"), Value::from(4_294_967_296_i64));
    }
}
