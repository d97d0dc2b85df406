//! `cmd.run_chroot`.
//!
//! Invariant: nothing is mounted or ended unless the root is a directory of
//! its own: never `/`, whatever it is called.

use std::fs;
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use halite_call::{Call, CallError, CallResult, python};

/// How often processes that stay in the root are ended; at last they are
/// killed.
const ENDINGS: usize = 6;

/// The root that is meant, which is none of the machine itself.
fn root_of(call: &Call<'_>) -> Result<PathBuf, CallError> {
    let given = call.text("root");
    let refuse = |why: &str| CallError::invocation(format!("cmd.run_chroot: {given:?} {why}"));
    if !Path::new(&given).is_absolute() {
        return Err(refuse("is no absolute path"));
    }
    let root = fs::canonicalize(&given).map_err(|error| refuse(&format!("is no root: {error}")))?;
    if !root.is_dir() {
        return Err(refuse("is no directory"));
    }
    if is_own_root(&root) {
        return Err(refuse("is the root of this machine"));
    }
    Ok(root)
}

/// Whether a directory is that of this process, by any name.
fn is_own_root(root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| {
        fs::metadata(path)
            .map(|about| (about.dev(), about.ino()))
            .ok()
    };
    let own = [place(Path::new("/")), place(Path::new("/proc/self/root/"))];
    let root_place = place(root);
    root == Path::new("/") || root_place.is_none() || own.contains(&root_place)
}

/// What is mounted for the time of the command; unmounted when dropped.
struct Mounts<'c, 'a> {
    call: &'c Call<'a>,
    places: Vec<PathBuf>,
}

impl Mounts<'_, '_> {
    fn mount(&mut self, place: PathBuf, device: &str, options: Map) -> Result<(), CallError> {
        let args = [Value::from(place.display().to_string()), device.into()];
        let mounted = self.call.salt("mount.mount", &args, options)?;
        match mounted {
            Value::Bool(true) => self.places.push(place),
            other => tracing::warn!(
                "{} is not mounted: {}",
                place.display(),
                python::str(&other)
            ),
        }
        Ok(())
    }
}

impl Drop for Mounts<'_, '_> {
    fn drop(&mut self) {
        for place in self.places.iter().rev() {
            let shown = place.display().to_string();
            match self
                .call
                .salt("mount.umount", &[shown.as_str().into()], Map::new())
            {
                Ok(Value::Bool(true)) => {}
                Ok(other) => tracing::error!("{shown} stays mounted: {}", python::str(&other)),
                Err(error) => tracing::error!("{shown} stays mounted: {error}"),
            }
        }
    }
}

pub(super) fn run_chroot(call: &Call<'_>) -> CallResult {
    let root = root_of(call)?;
    let binds = python::texts(call.arg("binds"));
    for bind in &binds {
        let is_plain = Path::new(bind)
            .components()
            .all(|part| !matches!(part, std::path::Component::ParentDir));
        if !bind.starts_with('/') || !is_plain {
            let text = format!("cmd.run_chroot: {bind:?} is no absolute path");
            return Err(CallError::invocation(text));
        }
    }
    let mut mounts = Mounts {
        call,
        places: Vec::new(),
    };
    for (place, kind) in [("dev", "devtmpfs"), ("proc", "proc"), ("sys", "sysfs")] {
        let options = Map::from([("fstype", kind)]);
        mounts.mount(root.join(place), kind, options)?;
    }
    for bind in &binds {
        let place = root.join(bind.trim_start_matches('/'));
        mounts.mount(place, bind, Map::from([("opts", "bind")]))?;
    }
    let ran = run(call, &root);
    end_those_left(&root);
    drop(mounts);
    let mut ran = ran?;
    if call.flag("hide_output")
        && let Value::Map(ran) = &mut ran
    {
        ran.insert("stdout", "");
        ran.insert("stderr", "");
    }
    Ok(ran)
}

fn run(call: &Call<'_>, root: &Path) -> CallResult {
    let shell = match root.join("bin/bash").is_file() {
        true => "/bin/bash",
        false => "/bin/sh",
    };
    let command = match call.arg("cmd") {
        Value::List(words) => words.iter().map(python::str).collect::<Vec<_>>().join(" "),
        text => python::str(text),
    };
    let mut words = vec![Value::from("chroot")];
    if let Some(user) = call.text_opt("runas") {
        let group = call.text_opt("group").unwrap_or_default();
        words.push("--userspec".into());
        words.push(format!("{user}:{group}").into());
    }
    words.extend([
        Value::from(root.display().to_string()),
        shell.into(),
        "-c".into(),
        command.into(),
    ]);
    let mut options = Map::from([("python_shell", false)]);
    let passed = [
        "cwd",
        "stdin",
        "env",
        "clean_env",
        "rstrip",
        "umask",
        "output_encoding",
        "output_loglevel",
        "timeout",
        "reset_system_locale",
        "ignore_retcode",
        "success_retcodes",
        "success_stdout",
        "success_stderr",
    ];
    for name in passed {
        options.insert(name, call.arg(name).clone());
    }
    let fun = if call.flag("bg") {
        "cmd.run_bg"
    } else {
        "cmd.run_all"
    };
    if fun == "cmd.run_bg" {
        options.retain(|name, _| {
            name.as_str()
                .is_some_and(|name| !["stdin", "rstrip", "output_encoding"].contains(&name))
        });
    }
    call.salt(fun, &[Value::List(words)], options)
}

/// Ends what still runs in the root, so that it can be unmounted.
fn end_those_left(root: &Path) {
    if is_own_root(root) {
        return;
    }
    for round in 0..ENDINGS {
        let left = inside(root);
        if left.is_empty() {
            return;
        }
        let signal = match round < ENDINGS / 2 {
            true => Signal::SIGTERM,
            false => Signal::SIGKILL,
        };
        for pid in left {
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(pid), signal);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    tracing::error!(
        "processes in {} could not be killed, it stays mounted",
        root.display()
    );
}

/// The processes whose root is exactly that directory.
fn inside(root: &Path) -> Vec<i32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let of = fs::read_link(entry.path().join("root")).ok()?;
            let is_inside = of == root && pid != own && pid > 1;
            is_inside.then(|| i32::try_from(pid).ok())?
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_root_is_known_by_any_name() {
        for name in [
            "/",
            "/proc/self/root",
            "/proc/self/root/",
            "/nowhere/at/all",
        ] {
            assert!(is_own_root(Path::new(name)), "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_own_root(dir.path()));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert!(is_own_root(&link));
        assert_eq!(inside(dir.path()), [0; 0]);
    }
}
