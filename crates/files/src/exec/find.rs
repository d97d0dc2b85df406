//! `file.find`: files below a directory that match criteria.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use halite_call::{Call, CallError, CallResult, python};
use halite_process::clock::unix_timestamp;
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::paths::{arg, glob};
use super::stats::hash_of;
use super::tree::remove_any;
use crate::core::regex::{IGNORECASE, Pattern};
use crate::core::{owner, path, text};
use crate::limits::DEPTH_MAX;

/// A condition or an action of a search.
enum Test {
    Name(String),
    IName(String),
    Path(Pattern),
    Type(String),
    Owner(Vec<String>),
    Group(Vec<String>),
    Size(i64, i64),
    Modified(i64, i64),
    Grep(Pattern),
    Delete(String),
    Exec(String),
    Print(Vec<String>),
}

struct Search {
    tests: Vec<Test>,
    min_depth: usize,
    max_depth: usize,
}

pub(super) fn find(call: &Call<'_>) -> CallResult {
    let mut options = call.clean_kwargs();
    for option in call.varargs() {
        if let Some((key, value)) = python::str(option).split_once('=') {
            options.insert(key, value);
        }
    }
    let search = match Search::new(&options) {
        Ok(search) => search,
        Err(wrong) => return Ok(format!("error: {wrong}").into()),
    };
    let mut found = Vec::new();
    for start in glob(&arg(call, "path")) {
        search.descend(call, Path::new(&start), 0, &mut found)?;
    }
    found.sort_by_key(python::str);
    Ok(found.into())
}

impl Test {
    /// The condition that an option names.
    fn new(option: &str, text: String) -> Result<Self, String> {
        let regex = |flags| {
            Pattern::new(&text, flags).map_err(|_| format!("invalid regular expression: {text:?}"))
        };
        Ok(match option {
            "name" => Self::Name(text),
            "iname" => Self::IName(text.to_lowercase()),
            "regex" => Self::Path(regex(0)?),
            "iregex" => Self::Path(regex(IGNORECASE)?),
            "type" => {
                if let Some(bad) = text.chars().find(|c| !"bcdpfls, ".contains(*c)) {
                    return Err(format!("invalid file type \"{bad}\""));
                }
                Self::Type(text)
            }
            "owner" | "user" => Self::Owner(names(&text)),
            "group" => Self::Group(names(&text)),
            "size" => {
                let (low, high) =
                    size_range(&text).ok_or_else(|| format!("invalid size: \"{text}\""))?;
                Self::Size(low, high)
            }
            "mtime" => {
                let (low, high) = time_range(&text)
                    .ok_or_else(|| format!("invalid time interval: \"{text}\""))?;
                Self::Modified(low, high)
            }
            "grep" => Self::Grep(regex(0)?),
            _ => return Err(format!("invalid option \"{option}\"")),
        })
    }
}

/// Names with commas or spaces between them.
fn names(text: &str) -> Vec<String> {
    let words = text.replace(',', " ");
    words.split_whitespace().map(str::to_owned).collect()
}

impl Search {
    fn new(options: &Map) -> Result<Self, String> {
        let mut search = Self {
            tests: Vec::new(),
            min_depth: 0,
            max_depth: DEPTH_MAX,
        };
        let mut actions = Vec::new();
        for (key, value) in options {
            let (name, text) = (python::str(key), python::str(value));
            let depth = || {
                text.parse::<usize>()
                    .map_err(|_| format!("invalid {name} {text:?}"))
            };
            match name.as_str() {
                "maxdepth" => search.max_depth = depth()?.min(DEPTH_MAX),
                "mindepth" => search.min_depth = depth()?,
                "delete" => actions.push(Test::Delete(text)),
                "exec" => actions.push(Test::Exec(text)),
                "print" => actions.push(Test::Print(names(&text))),
                _ => search.tests.push(Test::new(&name, text)?),
            }
        }
        search.tests.append(&mut actions);
        Ok(search)
    }

    fn descend(
        &self,
        call: &Call<'_>,
        at: &Path,
        depth: usize,
        found: &mut Vec<Value>,
    ) -> Result<(), CallError> {
        let is_dir = fs::symlink_metadata(at).is_ok_and(|data| data.is_dir());
        if depth >= self.min_depth {
            self.look(call, at, found)?;
        }
        if !is_dir || depth >= self.max_depth {
            return Ok(());
        }
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            self.descend(call, &entry.path(), depth + 1, found)?;
        }
        Ok(())
    }

    fn look(&self, call: &Call<'_>, at: &Path, found: &mut Vec<Value>) -> Result<(), CallError> {
        let Ok(data) = fs::metadata(at).or_else(|_| fs::symlink_metadata(at)) else {
            return Ok(());
        };
        let mut result: Option<Value> = None;
        for test in &self.tests {
            match test.run(call, at, &data)? {
                Answer::No => return Ok(()),
                Answer::Yes => {}
                Answer::Value(value) => result = Some(value),
            }
        }
        found.push(result.unwrap_or_else(|| at.display().to_string().into()));
        Ok(())
    }
}

enum Answer {
    No,
    Yes,
    Value(Value),
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

impl Test {
    fn run(&self, call: &Call<'_>, at: &Path, data: &Metadata) -> Result<Answer, CallError> {
        let full = at.display().to_string();
        let name = path::basename(&full);
        let named = |names: &[String], id: u32, name: Value| {
            names
                .iter()
                .any(|own| *own == id.to_string() || *own == python::str(&name))
                .into()
        };
        let is_wanted = |types: &str| types.is_empty() || types.contains(kind(data));
        Ok(match self {
            Self::Name(pattern) => fnmatch(pattern, name).into(),
            Self::IName(pattern) => fnmatch(pattern, &name.to_lowercase()).into(),
            Self::Path(pattern) => pattern.is_in(&full)?.into(),
            Self::Type(types) => is_wanted(types).into(),
            Self::Owner(names) => named(names, data.uid(), owner::user_name(data.uid())),
            Self::Group(names) => named(names, data.gid(), owner::group_name(data.gid())),
            Self::Size(low, high) => {
                let size = i64::try_from(data.len()).unwrap_or(i64::MAX);
                (*low..=*high).contains(&size).into()
            }
            Self::Modified(low, high) => (*low..=*high).contains(&data.mtime()).into(),
            Self::Grep(pattern) => {
                if !data.is_file() {
                    return Ok(Answer::No);
                }
                let content = text::decode(&text::look(at)?);
                for line in content.lines() {
                    if pattern.is_in(line)? {
                        return Ok(Answer::Yes);
                    }
                }
                Answer::No
            }
            Self::Delete(types) => {
                if !is_wanted(types) || call.is_test() {
                    return Ok(Answer::No);
                }
                remove_any(at).is_ok().into()
            }
            Self::Exec(command) => Answer::Value(run(call, command, &full)?),
            Self::Print(fields) => Answer::Value(print(fields, at, data)?),
        })
    }
}

fn kind(data: &Metadata) -> char {
    let kind = data.file_type();
    if kind.is_dir() {
        'd'
    } else if kind.is_symlink() {
        'l'
    } else if kind.is_block_device() {
        'b'
    } else if kind.is_char_device() {
        'c'
    } else if kind.is_fifo() {
        'p'
    } else if kind.is_socket() {
        's'
    } else {
        'f'
    }
}

fn run(call: &Call<'_>, command: &str, file: &str) -> Result<Value, CallError> {
    let line = command.replace("{}", &path::shell_quote(file));
    let options = Map::from([("python_shell", true), ("rstrip", false)]);
    let out = call.salt("cmd.run_all", &[line.as_str().into()], options)?;
    call.set_retcode(0);
    let text = |key: &str| out.get(key).map(python::str).unwrap_or_default();
    if text("retcode") != "0" {
        tracing::warn!(
            line,
            stderr = text("stderr"),
            "a command of file.find failed"
        );
    }
    Ok(format!("{line}:\n{}\n{}", text("stdout"), text("stderr")).into())
}

fn print(fields: &[String], at: &Path, data: &Metadata) -> Result<Value, CallError> {
    let full = at.display().to_string();
    let mut values = Vec::new();
    for field in fields {
        values.push(match field.as_str() {
            "group" => owner::group_name(data.gid()),
            "user" | "owner" => owner::user_name(data.uid()),
            "link" => {
                fs::read_link(at).map_or_else(|_| "".into(), |to| to.display().to_string().into())
            }
            "md5" if data.is_file() => hash_of(&full, "md5")?.into(),
            "md5" => "".into(),
            "mode" => (data.permissions().mode() & 0o7777).into(),
            "mtime" => data.mtime().into(),
            "name" => path::basename(&full).into(),
            "path" => full.as_str().into(),
            "size" => data.len().into(),
            "type" => kind(data).to_string().into(),
            other => {
                return Err(CallError::invocation(format!(
                    "invalid print field: {other}"
                )));
            }
        });
    }
    if values.len() == 1 {
        return Ok(values.remove(0));
    }
    Ok(values.into())
}

/// `+2k`: at least, `-2k`: at most, `2k`: of that size to the unit.
fn size_range(text: &str) -> Option<(i64, i64)> {
    let (sign, rest) = signed(text);
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let (unit, exact) = match rest.get(number.len()..)?.to_lowercase().as_str() {
        "" | "b" => (1_i64, true),
        "k" => (1 << 10, false),
        "m" => (1 << 20, false),
        "g" => (1 << 30, false),
        "t" => (1 << 40, false),
        _ => return None,
    };
    let size = number.parse::<i64>().ok()?.checked_mul(unit)?;
    Some(match sign {
        Some('+') => (size, i64::MAX),
        Some(_) => (0, size),
        None if exact => (size, size),
        None => (size, size.checked_add(unit - 1)?),
    })
}

/// `1d`, `+1w`: changed before that long ago; `-2h`: since.
fn time_range(text: &str) -> Option<(i64, i64)> {
    let (sign, rest) = signed(text);
    let mut seconds = 0_i64;
    let mut number = String::new();
    for c in rest.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let unit = match c {
            'w' => 604_800,
            'd' => 86_400,
            'h' => 3600,
            'm' => 60,
            's' => 1,
            ' ' => continue,
            _ => return None,
        };
        seconds = seconds.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        number.clear();
    }
    if !number.is_empty() {
        seconds = seconds.checked_add(number.parse::<i64>().ok()?.checked_mul(86_400)?)?;
    }
    let then = unix_timestamp() - seconds;
    Some(match sign {
        Some('-') => (then, i64::MAX),
        _ => (0, then),
    })
}

fn signed(text: &str) -> (Option<char>, &str) {
    match text.chars().next() {
        Some(sign @ ('+' | '-')) => (Some(sign), &text[1..]),
        _ => (None, text),
    }
}
