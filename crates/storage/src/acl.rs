//! Access control lists of files: the execution module `acl`.

use std::io::{self, ErrorKind};
use std::path::Path;

use halite_call::host::{Program, Ran};
use halite_call::paths::Handed;
use halite_call::{Call, CallError, CallResult, Function, Module, os_error, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "acl",
    functions: &[
        Function::new(
            "acl.delfacl",
            "(acl_type, acl_name='', *args, **kwargs)",
            |call| change(call, "-x"),
            "Removes an entry from the lists of files; with recursive of all below\nthem, and with raise_err a failure is one.",
        ),
        Function::new(
            "acl.getfacl",
            "(*args, **kwargs)",
            |call| Ok(lists(call, &files(call)?, is_recursive(call))?.into()),
            "The lists of files, with recursive of all below them: the entries of user,\ngroup, mask and other, and defaults, each with its permissions.",
        ),
        Function::new(
            "acl.modfacl",
            "(acl_type, acl_name='', perms='', *args, **kwargs)",
            |call| change(call, "-m"),
            "Sets an entry of the lists of files: the kind (user, group, mask or other,\nwith d: or default: before it), a name and permissions (rwxX- or a digit).\nWith recursive of all below them, and with raise_err a failure is one.",
        ),
        Function::new(
            "acl.version",
            "()",
            |call| {
                let said = need(call, "getfacl", &["--version"])?.run()?.stdout;
                Ok(said.split_whitespace().nth(1).into())
            },
            "The version of getfacl.",
        ),
        Function::new(
            "acl.wipefacls",
            "(*args, **kwargs)",
            wipe,
            "Removes all entries from the lists of files; with recursive of all below\nthem.",
        ),
    ],
};

fn need<'c, 'a>(
    call: &'c Call<'a>,
    program: &str,
    words: &[&str],
) -> Result<Program<'c, 'a>, CallError> {
    if !call.host().has(program) {
        return Err(CallError::NotFound(format!(
            "The '{program}' binary was not found in $PATH."
        )));
    }
    let all: Vec<&str> = [program].into_iter().chain(words.iter().copied()).collect();
    Ok(Program::new(call, &all))
}

fn is_recursive(call: &Call<'_>) -> bool {
    call.kwargs().get("recursive").is_some_and(Value::is_true)
}

/// The files that the call names, none of which is an option.
fn files(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let files: Vec<String> = call.varargs().iter().map(python::str).collect();
    if files.is_empty() {
        return Err(CallError::command(
            "You need to specify at least one file or directory to work with!",
        ));
    }
    match files.iter().find(|file| file.starts_with('-')) {
        Some(file) => Err(CallError::invocation(format!("not a file: {file:?}"))),
        None => Ok(files),
    }
}

/// Files that a program is given at once: each is a descriptor.
const FILES_AT_ONCE: usize = 64;

/// A program with what it is told, to be given files.
struct Tool<'w> {
    words: &'w [&'w str],
    /// Of what is below a file, only directories: nothing else has defaults.
    of_directories: bool,
}

impl Tool<'_> {
    /// Gives it files, and with `-R` among its words all that is below them: what the
    /// rule of links lets one get to, not what users' links lead to on the way. What
    /// has come of them, a few at a time.
    fn run(&self, call: &Call<'_>, files: &[String]) -> Result<Vec<Ran>, CallError> {
        let is_real = call.host().is_real();
        let goes_down = is_real && self.words.contains(&"-R");
        let mut all = Vec::new();
        let mut waiting: Vec<(String, Handed)> = Vec::new();
        for file in files {
            let place = Path::new(file);
            let path = |error| os_error(&error, place);
            if !goes_down {
                match call.host().hand_target(place) {
                    Ok(handed) => waiting.push((file.clone(), handed)),
                    Err(error) if error.kind() == ErrorKind::NotFound => all.push(none(file)),
                    Err(error) => return Err(path(error)),
                }
                if is_real && waiting.len() >= FILES_AT_ONCE {
                    all.push(self.give(call, &mut waiting)?);
                }
                continue;
            }
            let mut each = |found: &Path, handed: Handed, is_directory: bool| {
                if self.of_directories && !is_directory && found != place {
                    return Ok(());
                }
                waiting.push((found.display().to_string(), handed));
                if waiting.len() >= FILES_AT_ONCE {
                    all.push(self.give(call, &mut waiting)?);
                }
                Ok::<_, Failed>(())
            };
            match Handed::tree(place, &mut each) {
                Ok(()) => {}
                Err(Failed::Io(error)) if error.kind() == ErrorKind::NotFound => {
                    all.push(none(file));
                }
                Err(Failed::Io(error)) => return Err(path(error)),
                Err(Failed::Call(error)) => return Err(error),
            }
        }
        if !waiting.is_empty() {
            all.push(self.give(call, &mut waiting)?);
        }
        Ok(all)
    }

    fn give(&self, call: &Call<'_>, waiting: &mut Vec<(String, Handed)>) -> Result<Ran, CallError> {
        let is_real = call.host().is_real();
        let mut words = self.words.iter().filter(|word| !is_real || **word != "-R");
        let program = words.next().copied().unwrap_or_default();
        let words: Vec<&str> = words.copied().collect();
        let mut asked = need(call, program, &words)?;
        for (_, handed) in waiting.iter() {
            asked = asked.arg(handed.word());
        }
        let mut ran = asked.run()?;
        for (path, handed) in waiting.drain(..) {
            let line = |name: &str| format!("# file: {name}\n");
            // As the program writes it.
            let path = path.replace('\n', "\\012");
            ran.stdout = ran.stdout.replace(&line(handed.word()), &line(&path));
            ran.stderr = handed.said(&ran.stderr);
        }
        Ok(ran)
    }
}

/// What comes of a file that is not there.
fn none(file: &str) -> Ran {
    Ran {
        code: 1,
        stderr: format!("{file}: No such file or directory"),
        ..Ran::default()
    }
}

/// Why a tree was not gone through.
enum Failed {
    Io(io::Error),
    Call(CallError),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// The lists of files by their paths.
pub(crate) fn lists(call: &Call<'_>, files: &[String], recursive: bool) -> Result<Map, CallError> {
    let mut words = vec!["getfacl", "--absolute-names"];
    words.extend(recursive.then_some("-R"));
    let tool = Tool {
        words: &words,
        of_directories: false,
    };
    let mut lists = Map::new();
    for ran in tool.run(call, files)? {
        lists.extend(parsed(&ran.stdout));
    }
    Ok(lists)
}

fn parsed(said: &str) -> Map {
    let mut all = Map::new();
    for text in said.split("\n\n") {
        let mut comment = Map::new();
        let (mut entries, mut defaults) = (Map::new(), Map::new());
        for line in text.lines() {
            if let Some((key, value)) = line
                .strip_prefix("# ")
                .and_then(|rest| rest.split_once(": "))
            {
                comment.insert(key, value);
                continue;
            }
            let (line, target) = match line.strip_prefix("default:") {
                Some(rest) => (rest, &mut defaults),
                None => (line, &mut entries),
            };
            // `user:ann:rwx		#effective:r--`
            let words = line.split_whitespace().next().unwrap_or_default();
            let [kind, name, permissions] = words.split(':').collect::<Vec<_>>()[..] else {
                continue;
            };
            let owner = || comment.get(if kind == "user" { "owner" } else { kind });
            let name = match name {
                "" => owner().map(python::str).unwrap_or_default(),
                name => name.to_owned(),
            };
            let entry = [(name, permitted(permissions))]
                .into_iter()
                .collect::<Map>();
            if let Value::List(list) = target.get_or_insert_with(kind, || Value::List(Vec::new())) {
                list.push(entry.into());
            }
        }
        let Some(file) = comment.get("file").map(python::str) else {
            continue;
        };
        let mut list = Map::from([("comment", comment)]);
        list.extend(entries);
        if !defaults.is_empty() {
            list.insert("defaults", defaults);
        }
        all.insert(file, list);
    }
    all
}

/// What `rwx` permits.
fn permitted(text: &str) -> Map {
    let has = |letter: char| text.contains(letter);
    let octal = [('r', 4), ('w', 2), ('x', 1)]
        .into_iter()
        .filter(|(letter, _)| has(*letter))
        .map(|(_, bit)| bit)
        .sum::<i64>();
    let permissions = Map::from([
        ("read", has('r')),
        ("write", has('w')),
        ("execute", has('x')),
    ]);
    Map::from([
        ("permissions", Value::from(permissions)),
        ("octal", octal.into()),
    ])
}

/// The kind of an entry as `setfacl` takes it.
fn kind(text: &str) -> Result<String, CallError> {
    let (prefix, own) = match text.split_once(':') {
        Some(("d" | "default", own)) => ("d:", own),
        _ => ("", text),
    };
    let letter = match own {
        "u" | "user" => 'u',
        "g" | "group" => 'g',
        "m" | "mask" => 'm',
        "o" | "other" => 'o',
        _ => {
            return Err(CallError::invocation(format!(
                "not a kind of entry: {text:?}"
            )));
        }
    };
    Ok(format!("{prefix}{letter}"))
}

fn change(call: &Call<'_>, verb: &str) -> CallResult {
    let files = files(call)?;
    let (kind, name) = (kind(&call.text("acl_type"))?, call.text("acl_name"));
    let mut entry = format!("{kind}:{name}");
    if verb == "-m" {
        entry = format!("{entry}:{}", call.text("perms"));
    }
    if name.contains([',', ':', '\n']) || entry.contains([',', '\n']) {
        return Err(CallError::invocation(format!("not an entry: {entry:?}")));
    }
    let of_directories = kind.starts_with("d:");
    let mut words = vec!["setfacl"];
    words.extend(is_recursive(call).then_some("-R"));
    words.extend([verb, entry.as_str()]);
    let tool = Tool {
        words: &words,
        of_directories,
    };
    let all = tool.run(call, &files)?;
    let failed = all.iter().find(|ran| !ran.ok());
    if let Some(ran) = failed
        && call.kwargs().get("raise_err").is_some_and(Value::is_true)
    {
        return Err(CallError::command(ran.complaint()));
    }
    Ok(true.into())
}

fn wipe(call: &Call<'_>) -> CallResult {
    let files = files(call)?;
    let mut words = vec!["setfacl", "-b"];
    words.extend(is_recursive(call).then_some("-R"));
    let tool = Tool {
        words: &words,
        of_directories: false,
    };
    tool.run(call, &files)?;
    Ok(true.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_without_a_name_are_of_the_owner() {
        let said = "# file: /a b\n# owner: ann\n# group: web\n# flags: -s-\nuser::rw-\nuser:bob:rwx\t\t#effective:r--\ngroup::r--\nmask::r--\nother::---\ndefault:user::rwx\n\n# file: /c\n# owner: 0\n# group: 0\nuser::r--\n";
        let all = parsed(said);
        assert_eq!(all.len(), 2);
        let list = all.get("/a b").unwrap();
        assert_eq!(
            list.get("comment").unwrap().get("flags"),
            Some(&"-s-".into())
        );
        let user = list.get("user").unwrap().as_list().unwrap();
        assert_eq!(user[0].get("ann").unwrap().get("octal"), Some(&6.into()));
        assert_eq!(user[1].get("bob").unwrap().get("octal"), Some(&7.into()));
        let group = list.get("group").unwrap().as_list().unwrap();
        assert!(group[0].get("web").is_some());
        let defaults = list.get("defaults").unwrap().get("user").unwrap();
        assert!(defaults.as_list().unwrap()[0].get("ann").is_some());
    }

    #[test]
    fn kinds_have_short_names() {
        for (long, short) in [
            ("user", "u"),
            ("g", "g"),
            ("default:other", "d:o"),
            ("d:m", "d:m"),
        ] {
            assert_eq!(kind(long).unwrap(), short);
        }
        assert!(kind("users").is_err());
        assert!(kind("x:user").is_err());
    }
}
