//! States of access control lists of files.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::acl::lists;

pub(crate) const MODULE: Module = Module {
    name: "acl",
    functions: &[
        Function::new(
            "acl.absent",
            "(name, acl_type, acl_name='', perms='', recurse=False)",
            |call| absent(call, &[call.text("acl_name")]),
            "A file's list has no entry of a kind and a name; with recurse neither has\nwhat is below it.",
        ),
        Function::new(
            "acl.list_absent",
            "(name, acl_type, acl_names=None, recurse=False)",
            |call| absent(call, &call.texts("acl_names")),
            "A file's list has no entries of several names.",
        ),
        Function::new(
            "acl.list_present",
            "(name, acl_type, acl_names=None, perms='', recurse=False, force=False)",
            list_present,
            "A file's list has entries of several names with permissions; with force\nno others.",
        ),
        Function::new(
            "acl.present",
            "(name, acl_type, acl_name='', perms='', recurse=False, force=False)",
            present,
            "A file's list has an entry of a kind (user, group, mask or other, with d:\nor default: before it) and a name with permissions; with recurse so has what\nis below it, and with force there are no others.",
        ),
    ],
};

/// Bits of reading, writing and executing.
const READ: i64 = 4;
const WRITE: i64 = 2;
const EXECUTE: i64 = 1;

/// Permissions that are asked for.
struct Permissions {
    bits: i64,
    /// `X`: executing where that makes sense.
    if_sensible: bool,
}

impl Permissions {
    fn of(text: &str) -> Option<Self> {
        if let [digit @ b'0'..=b'7'] = text.as_bytes() {
            let bits = i64::from(digit - b'0');
            return Some(Self {
                bits,
                if_sensible: false,
            });
        }
        let mut wanted = Self {
            bits: 0,
            if_sensible: false,
        };
        for letter in text.chars() {
            match letter {
                'r' => wanted.bits |= READ,
                'w' => wanted.bits |= WRITE,
                'x' => wanted.bits |= EXECUTE,
                'X' => wanted.if_sensible = true,
                '-' => {}
                _ => return None,
            }
        }
        Some(wanted)
    }

    /// As a number, for changes of several names.
    fn octal(&self) -> i64 {
        self.bits | i64::from(self.if_sensible)
    }

    fn fits(&self, bits: i64, is_directory: bool) -> bool {
        let rest = READ | WRITE;
        match self.if_sensible && !is_directory {
            true => self.bits & rest == bits & rest,
            false => self.octal() == bits,
        }
    }
}

/// `r-x` of a number.
fn letters(bits: i64) -> String {
    [(READ, 'r'), (WRITE, 'w'), (EXECUTE, 'x')]
        .into_iter()
        .map(|(bit, letter)| if bits & bit == 0 { '-' } else { letter })
        .collect()
}

/// The lists of a file, and with recurse of what is below it.
struct Lists {
    /// Of each path, and whether it is a directory.
    all: Vec<(Value, bool)>,
    is_default: bool,
    kind: String,
}

impl Lists {
    fn read(call: &Call<'_>) -> Result<Self, CallError> {
        let wanted = call.text("acl_type");
        let (is_default, kind) = match wanted.split_once(':') {
            Some(("d" | "default", kind)) => (true, kind.to_owned()),
            _ => (false, wanted),
        };
        let host = call.host();
        let found = lists(call, &[call.text("name")], call.flag("recurse"))?;
        let all = found.into_iter().map(|(path, list)| {
            let is_directory = host.path(python::str(&path)).is_dir();
            (list, is_directory)
        });
        // What is below a directory may be files, which have no defaults.
        let all = all.filter(|(_, is_directory)| *is_directory || !is_default);
        Ok(Self {
            all: all.collect(),
            is_default,
            kind,
        })
    }

    /// Whether there can be entries of the kind.
    fn has_kind(&self) -> bool {
        self.is_default
            || ["user", "group"].contains(&self.kind.as_str())
            || self
                .all
                .iter()
                .any(|(list, _)| list.get(&self.kind).is_some())
    }

    /// The permissions of a name, of each path.
    fn bits<'l>(&'l self, name: &'l str) -> impl Iterator<Item = (Option<i64>, bool)> + 'l {
        self.all.iter().map(move |(list, is_directory)| {
            let comment = list.get("comment");
            let entries = match self.is_default {
                true => list
                    .get("defaults")
                    .and_then(|defaults| defaults.get(&self.kind)),
                false => list.get(&self.kind),
            };
            let owner = match (name, self.kind.as_str()) {
                ("", "user") => comment.and_then(|comment| comment.get("owner")),
                ("", "group") => comment.and_then(|comment| comment.get("group")),
                _ => None,
            };
            let name = owner.map_or_else(|| name.to_owned(), python::str);
            let entries = entries.and_then(Value::as_list).unwrap_or_default();
            let entry = entries.iter().find_map(|entry| entry.get(&name));
            let bits = entry.and_then(|entry| entry.get("octal")?.as_i64());
            (bits, *is_directory)
        })
    }

    fn has(&self, name: &str) -> bool {
        self.bits(name).any(|(bits, _)| bits.is_some())
    }

    fn fits(&self, name: &str, wanted: &Permissions) -> bool {
        self.bits(name)
            .all(|(bits, is_directory)| bits.is_some_and(|bits| wanted.fits(bits, is_directory)))
    }

    /// Permissions of a name that are not those wanted.
    fn other(&self, name: &str, wanted: &Permissions) -> Option<i64> {
        self.bits(name)
            .find_map(|(bits, is_directory)| bits.filter(|bits| !wanted.fits(*bits, is_directory)))
    }
}

/// Sets the entries of names, without all others where that is asked for.
fn set(call: &Call<'_>, names: &[String]) -> Result<(), CallError> {
    let file = call.arg("name").clone();
    let recursive = Map::from([("recursive", call.flag("recurse"))]);
    if call.flag("force") {
        call.salt(
            "acl.wipefacls",
            std::slice::from_ref(&file),
            recursive.clone(),
        )?;
    }
    for name in names {
        let arguments = [
            call.arg("acl_type").clone(),
            name.as_str().into(),
            call.text("perms").into(),
            file.clone(),
        ];
        let mut options = recursive.clone();
        options.insert("raise_err", true);
        call.salt("acl.modfacl", &arguments, options)?;
    }
    Ok(())
}

/// An entry as changes show it.
fn entry(call: &Call<'_>, name: &str, permissions: impl Into<Value>) -> Map {
    Map::from([
        ("acl_name", Value::from(name)),
        ("acl_type", call.arg("acl_type").clone()),
        ("perms", permissions.into()),
    ])
}

/// The state and the lists, or what is wrong.
fn begin(call: &Call<'_>) -> Result<Result<(StateReturn, Lists), StateReturn>, CallError> {
    let state = StateReturn::of(call);
    let file = call.text("name");
    if !call.host().path(&file).exists() {
        return Ok(Err(state.failed(format!("{file} does not exist"))));
    }
    let lists = Lists::read(call)?;
    Ok(match lists.has_kind() {
        true => Ok((state.ok("Permissions are in the desired state"), lists)),
        false => Err(state.failed("ACL Type does not exist")),
    })
}

fn permissions(call: &Call<'_>) -> Result<Permissions, CallError> {
    let text = call.text("perms");
    Permissions::of(&text)
        .ok_or_else(|| CallError::invocation(format!("not permissions: {text:?}")))
}

/// What is to be done, in the words of one name or of several.
struct Change {
    new: Map,
    old: Option<Map>,
    /// What test mode says, and what is said when it is done.
    predicted: String,
    done: String,
    /// Whom errors name.
    whom: String,
}

impl Change {
    fn carry_out(self, call: &Call<'_>, state: StateReturn, names: &[String]) -> CallResult {
        let mut state = state;
        let mut changes = Map::from([("new", self.new)]);
        if let Some(old) = self.old {
            changes.insert("old", old);
        }
        if call.is_test() {
            state.changes = changes;
            return Ok(state.pending(self.predicted).into());
        }
        Ok(match set(call, names) {
            Ok(()) => {
                state.changes = changes;
                state.ok(self.done)
            }
            Err(CallError::Command(text)) => state.failed(format!(
                "Error updating permissions for {}: {text}",
                self.whom
            )),
            Err(other) => return Err(other),
        }
        .into())
    }
}

fn present(call: &Call<'_>) -> CallResult {
    let (state, lists) = match begin(call)? {
        Ok(both) => both,
        Err(state) => return Ok(state.into()),
    };
    let wanted = permissions(call)?;
    let (name, shown) = (call.text("acl_name"), call.text("perms"));
    if lists.fits(&name, &wanted) {
        return Ok(state.into());
    }
    let old = lists.other(&name, &wanted).map(letters);
    let change = match &old {
        None => Change {
            new: entry(call, &name, shown.as_str()),
            old: None,
            predicted: format!("New permissions will be applied for {name}: {shown}"),
            done: format!("Applied new permissions for {name}"),
            whom: name.clone(),
        },
        Some(old) => Change {
            new: entry(call, &name, shown.as_str()),
            old: Some(entry(call, &name, old.as_str())),
            predicted: format!("Updated permissions will be applied for {name}: {old} -> {shown}"),
            done: format!("Updated permissions for {name}"),
            whom: name.clone(),
        },
    };
    change.carry_out(call, state, &[name])
}

fn list_present(call: &Call<'_>) -> CallResult {
    let (state, lists) = match begin(call)? {
        Ok(both) => both,
        Err(state) => return Ok(state.into()),
    };
    let wanted = permissions(call)?;
    let (names, shown) = (call.texts("acl_names"), call.text("perms"));
    let is_there = !names.is_empty() && names.iter().all(|name| lists.has(name));
    if is_there && names.iter().all(|name| lists.fits(name, &wanted)) {
        return Ok(state.into());
    }
    let joined = names.join(", ");
    let listed = names.iter().map(|name| name.as_str().into()).collect();
    let listed = python::repr(&Value::List(listed));
    let change = if is_there {
        let mut old: Vec<String> = Vec::new();
        for bits in names
            .iter()
            .filter_map(|name| lists.bits(name).find_map(|(bits, _)| bits))
        {
            let bits = bits.to_string();
            if !old.contains(&bits) {
                old.push(bits);
            }
        }
        let (old, new) = (old.join(", "), wanted.octal());
        Change {
            new: entry(call, &joined, new),
            old: Some(entry(call, &joined, old.as_str())),
            predicted: format!(
                "Updated permissions will be applied for {listed}: {old} -> {shown}"
            ),
            done: format!("Updated permissions for {listed}"),
            whom: listed,
        }
    } else {
        Change {
            new: entry(call, &joined, shown.as_str()),
            old: None,
            predicted: format!("New permissions will be applied for {listed}: {shown}"),
            done: format!("Applied new permissions for {joined}"),
            whom: listed,
        }
    };
    change.carry_out(call, state, &names)
}

fn absent(call: &Call<'_>, names: &[String]) -> CallResult {
    let (state, lists) = match begin(call)? {
        Ok(both) => both,
        Err(state) => return Ok(state.into()),
    };
    if !names.iter().any(|name| lists.has(name)) {
        return Ok(state.into());
    }
    let comment = "Removing permissions";
    if call.is_test() {
        return Ok(state.pending(comment).into());
    }
    for name in names.iter().filter(|name| lists.has(name)) {
        let arguments = [
            call.arg("acl_type").clone(),
            name.as_str().into(),
            call.arg("name").clone(),
        ];
        let options = Map::from([("recursive", call.flag("recurse"))]);
        call.salt("acl.delfacl", &arguments, options)?;
    }
    Ok(state.ok(comment).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capital_x_is_for_directories() {
        let wanted = Permissions::of("rX").unwrap();
        assert!(wanted.fits(READ | EXECUTE, true));
        assert!(!wanted.fits(READ, true));
        assert!(wanted.fits(READ, false));
        assert!(wanted.fits(READ | EXECUTE, false));
        assert!(!wanted.fits(READ | WRITE, false));
    }

    #[test]
    fn permissions_are_letters_or_a_digit() {
        assert_eq!(Permissions::of("r-x").unwrap().bits, 5);
        assert_eq!(Permissions::of("6").unwrap().bits, 6);
        assert_eq!(Permissions::of("").unwrap().bits, 0);
        assert!(Permissions::of("8").is_none());
        assert!(Permissions::of("rwz").is_none());
        assert_eq!(letters(5), "r-x");
    }
}
