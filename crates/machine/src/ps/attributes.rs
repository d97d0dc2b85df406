//! All data about one process: `ps.proc_info`.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};
use nix::sched::sched_getaffinity;
use nix::unistd::Pid;

use super::machine::{float, ticks_per_second, total};
use super::process::{Process, stat};
use super::{maps, sockets};

/// What is known of a process, in the order of the names.
const ATTRIBUTES: &[&str] = &[
    "cmdline",
    "cpu_affinity",
    "cpu_num",
    "cpu_percent",
    "cpu_times",
    "create_time",
    "cwd",
    "environ",
    "exe",
    "gids",
    "io_counters",
    "ionice",
    "memory_full_info",
    "memory_info",
    "memory_maps",
    "memory_percent",
    "name",
    "net_connections",
    "nice",
    "num_ctx_switches",
    "num_fds",
    "num_threads",
    "open_files",
    "pid",
    "ppid",
    "status",
    "terminal",
    "threads",
    "uids",
    "username",
];

pub(super) fn proc_info(call: &Call<'_>) -> CallResult {
    let pid = call.int("pid")?;
    let wanted = match call.arg("attrs") {
        Value::Nil => None,
        Value::List(names) => Some(names.iter().map(python::str).collect::<Vec<_>>()),
        other => {
            let text = format!("invalid attrs type <class '{}'>", other.type_name());
            return Err(CallError::wrong_type(text));
        }
    };
    let unknown: Vec<String> = wanted
        .iter()
        .flatten()
        .filter(|name| !ATTRIBUTES.contains(&name.as_str()))
        .map(|name| format!("'{name}'"))
        .collect();
    if !unknown.is_empty() {
        let plural = if unknown.len() == 1 { "" } else { "s" };
        let text = format!("invalid attr name{plural} {}", unknown.join(", "));
        return Err(CallError::exception("ValueError", text));
    }
    let process = i32::try_from(pid)
        .ok()
        .and_then(|pid| Process::of(call, pid));
    let Some(process) = process else {
        return Err(CallError::command(format!(
            "process PID not found (pid={pid})"
        )));
    };
    let names: Vec<&str> = match &wanted {
        Some(names) if !names.is_empty() => names.iter().map(String::as_str).collect(),
        _ => ATTRIBUTES.to_vec(),
    };
    let mut info = Map::new();
    for name in names {
        let value = match process.attribute(call, name) {
            Ok(value) => value,
            Err(ErrorKind::NotFound) if !process.place.exists() => {
                let text = format!("process no longer exists (pid={pid})");
                return Err(CallError::command(text));
            }
            // What others may not see.
            Err(_) => Value::Nil,
        };
        info.insert(name, value);
    }
    Ok(info.into())
}

impl Process {
    /// The numbers behind a name in `status`.
    fn status_numbers(&self, name: &str) -> Result<Vec<Value>, ErrorKind> {
        let text = self.read("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let words = line.unwrap_or_default().split_whitespace();
        Ok(words
            .filter_map(|word| word.parse::<i64>().ok())
            .map(Value::from)
            .collect())
    }

    fn read(&self, name: &str) -> Result<String, ErrorKind> {
        fs::read(self.place.join(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|error| error.kind())
    }

    fn link(&self, name: &str) -> Result<Value, ErrorKind> {
        match fs::read_link(self.place.join(name)) {
            Ok(path) => Ok(path.display().to_string().into()),
            // A process of the kernel.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok("".into()),
            Err(error) => Err(error.kind()),
        }
    }

    fn attribute(&self, call: &Call<'_>, name: &str) -> Result<Value, ErrorKind> {
        let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::from).collect());
        Ok(match name {
            "cmdline" => texts(self.command_line()),
            "cpu_affinity" => self.affinity(),
            "cpu_num" => self.field(36).into(),
            "cpu_percent" => 0.0.into(),
            "cpu_times" => floats(&self.cpu_times()),
            "create_time" => self.create_time(call).into(),
            "cwd" => self.link("cwd")?,
            "environ" => environment(&self.read("environ")?).into(),
            "exe" => self.link("exe")?,
            "gids" => first(self.status_numbers("Gid:")?, 3),
            "io_counters" => self.io()?,
            "ionice" => self.ionice(call),
            "memory_full_info" => {
                let shares =
                    maps::shares(&self.read("smaps_rollup").or_else(|_| self.read("smaps"))?);
                let all = self.memory().ok_or(ErrorKind::NotFound)?;
                all.into_iter()
                    .chain(shares)
                    .map(Value::from)
                    .collect::<Vec<_>>()
                    .into()
            }
            "memory_info" => {
                let all = self.memory().ok_or(ErrorKind::NotFound)?;
                all.into_iter().map(Value::from).collect::<Vec<_>>().into()
            }
            "memory_maps" => maps::by_path(&self.read("smaps")?),
            "memory_percent" => {
                let [resident, ..] = self.memory().ok_or(ErrorKind::NotFound)?;
                let total = total(call).unwrap_or(1).max(1);
                (float(resident) / float(total) * 100.0).into()
            }
            "name" => self.name().into(),
            "net_connections" => sockets::of_process(&self.place)?,
            "nice" => self.signed(16).into(),
            "num_ctx_switches" => {
                let mut counts = self.status_numbers("voluntary_ctxt_switches:")?;
                counts.extend(self.status_numbers("nonvoluntary_ctxt_switches:")?);
                counts.into()
            }
            "num_fds" => self.entries("fd")?.len().into(),
            "num_threads" => self.status_numbers("Threads:")?.pop().into(),
            "open_files" => self.open_files()?,
            "pid" => self.pid.into(),
            "ppid" => self.field(1).into(),
            "status" => self.status().into(),
            "terminal" => self.terminal(call).into(),
            "threads" => self.threads()?,
            "uids" => first(self.status_numbers("Uid:")?, 3),
            "username" => self.user().into(),
            _ => Value::Nil,
        })
    }

    fn signed(&self, at: usize) -> i64 {
        let field = self.fields.get(at);
        field
            .and_then(|field| field.parse().ok())
            .unwrap_or_default()
    }

    fn entries(&self, name: &str) -> Result<Vec<String>, ErrorKind> {
        let entries = fs::read_dir(self.place.join(name)).map_err(|error| error.kind())?;
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    fn affinity(&self) -> Value {
        let Ok(set) = sched_getaffinity(Pid::from_raw(self.pid)) else {
            return Value::Nil;
        };
        let cpus = (0..nix::sched::CpuSet::count()).filter(|cpu| set.is_set(*cpu) == Ok(true));
        cpus.map(Value::from).collect::<Vec<_>>().into()
    }

    fn io(&self) -> Result<Value, ErrorKind> {
        let text = self.read("io")?;
        let of = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
        };
        let names = [
            "syscr:",
            "syscw:",
            "read_bytes:",
            "write_bytes:",
            "rchar:",
            "wchar:",
        ];
        Ok(names
            .map(|name| Value::from(of(name).unwrap_or_default()))
            .to_vec()
            .into())
    }

    /// The class and the priority of its use of disks, from `ionice`.
    fn ionice(&self, call: &Call<'_>) -> Value {
        let args = [Value::from(vec![
            Value::from("ionice"),
            "-p".into(),
            self.pid.to_string().into(),
        ])];
        let kwargs = Map::from([("python_shell", false), ("ignore_retcode", true)]);
        let said = call
            .salt("cmd.run_stdout", &args, kwargs)
            .unwrap_or_default();
        let said = python::str(&said);
        let (class, priority) = said.split_once(": prio ").unwrap_or((&said, "0"));
        let class = match class.trim() {
            "none" | "unknown" => 0,
            "realtime" => 1,
            "best-effort" => 2,
            "idle" => 3,
            _ => return Value::Nil,
        };
        let priority: i64 = priority.trim().parse().unwrap_or_default();
        vec![Value::from(class), priority.into()].into()
    }

    fn terminal(&self, call: &Call<'_>) -> Option<String> {
        let number = self.field(4);
        if number == 0 {
            return None;
        }
        let host = call.host();
        let listed = |dir: &str| fs::read_dir(host.path(dir)).into_iter().flatten().flatten();
        let terminals = listed("/dev")
            .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"tty"))
            .chain(listed("/dev/pts"));
        let mut paths = terminals.map(|entry| entry.path());
        paths
            .find(|path| fs::metadata(path).is_ok_and(|about| about.rdev() == number))
            .map(|path| path.display().to_string())
    }

    fn threads(&self) -> Result<Value, ErrorKind> {
        let threads = self.entries("task")?.into_iter().filter_map(|id| {
            let (_, fields) = stat(&self.place.join("task").join(&id))?;
            let seconds = |at: usize| -> Option<f64> {
                Some(float(fields.get(at)?.parse().ok()?) / ticks_per_second())
            };
            let id: i64 = id.parse().ok()?;
            Some(vec![Value::from(id), seconds(11)?.into(), seconds(12)?.into()].into())
        });
        Ok(threads.collect::<Vec<Value>>().into())
    }

    fn open_files(&self) -> Result<Value, ErrorKind> {
        let files = self.entries("fd")?.into_iter().filter_map(|fd| {
            let path = fs::read_link(self.place.join("fd").join(&fd)).ok()?;
            if !path.is_absolute() || !path.is_file() {
                return None;
            }
            let about = self.read(&format!("fdinfo/{fd}")).ok()?;
            let of = |name: &str| about.lines().find_map(|line| line.strip_prefix(name));
            let position: i64 = of("pos:")?.trim().parse().ok()?;
            let flags = i64::from_str_radix(of("flags:")?.trim(), 8).ok()?;
            Some(
                vec![
                    Value::from(path.display().to_string()),
                    fd.parse::<i64>().ok()?.into(),
                    position.into(),
                    mode(flags).into(),
                    flags.into(),
                ]
                .into(),
            )
        });
        Ok(files.collect::<Vec<Value>>().into())
    }
}

/// Flags of an open file as Python's `open` writes them.
fn mode(flags: i64) -> &'static str {
    let append = flags & i64::from(nix::libc::O_APPEND) != 0;
    match (flags & i64::from(nix::libc::O_ACCMODE), append) {
        (0, _) => "r",
        (1, false) => "w",
        (1, true) => "a",
        (_, false) => "r+",
        (_, true) => "a+",
    }
}

fn environment(text: &str) -> Map {
    let pairs = text.split('\0').filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name, Value::from(value)))
        .collect()
}

fn floats(values: &[f64]) -> Value {
    values
        .iter()
        .map(|value| Value::from(*value))
        .collect::<Vec<_>>()
        .into()
}

fn first(mut values: Vec<Value>, count: usize) -> Value {
    values.truncate(count);
    values.into()
}
