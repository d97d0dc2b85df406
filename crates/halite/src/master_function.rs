//! `master_type: func`: a function names the masters, once, at the start.
//!
//! As in Salt it is `module.function`, a Python file among the minion's own modules
//! (`_modules`, which `saltutil.sync_modules` puts below `extension_modules`, or a
//! directory of `module_dirs`). It is run by `python3`, without the rest of Salt,
//! and returns a text or a list of texts.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_config::{MasterAddress, MinionConfig};
use halite_process::child;
use halite_proto::{Map, Value};

/// How long the function may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often it is looked whether it has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Largest answer that is read.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// Loads the file, calls the function, prints what it gives as JSON. The options
/// hold passwords: they come over standard input, since every user may read
/// command lines.
const SCRIPT: &str = r#"
import importlib.util, json, sys
path, function = sys.argv[1:3]
spec = importlib.util.spec_from_file_location("halite_master_function", path)
module = importlib.util.module_from_spec(spec)
module.__opts__ = json.load(sys.stdin)
module.__grains__ = module.__opts__.get("grains") or {}
module.__salt__ = {}
module.__context__ = {}
out, sys.stdout = sys.stdout, sys.stderr
spec.loader.exec_module(module)
json.dump(getattr(module, function)(), out)
"#;

/// The masters that the function named by `master` returns.
///
/// # Errors
/// When there is no such function, it fails, or what it gives are no masters.
pub(crate) fn masters(config: &MinionConfig) -> Result<Vec<MasterAddress>> {
    let name = config.master.entries.first().map_or("", String::as_str);
    let (module, function) = name.split_once('.').context("bad option `master`")?;
    let file = find(config, module)?;
    let answer = run(&file, function, config.opts())
        .with_context(|| format!("master_type is func, but {name} of {}", file.display()))?;
    let entries = match answer {
        Value::Str(one) => vec![one],
        Value::List(many) => many
            .iter()
            .map(|entry| entry.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .with_context(|| format!("{name} returns a list with values that are not strings"))?,
        _ => bail!("{name} returns neither a string nor a list of strings"),
    };
    ensure!(!entries.is_empty(), "{name} returns no master");
    let mut masters: Vec<MasterAddress> = Vec::new();
    for entry in entries {
        match config.address(&entry) {
            Ok(address) if masters.contains(&address) => {
                tracing::warn!(master = entry, "{name} returns this master twice");
            }
            Ok(address) => masters.push(address),
            Err(why) => bail!("{name} returns {entry:?}, which is not a master: {why}"),
        }
    }
    Ok(masters)
}

fn find(config: &MinionConfig, module: &str) -> Result<PathBuf> {
    let opts = config.opts();
    let own = opts.get("module_dirs").and_then(Value::as_list);
    let own = own.unwrap_or_default().iter().filter_map(Value::as_str);
    let extensions = opts.get("extension_modules").and_then(Value::as_str);
    let synced = extensions.map(|dir| PathBuf::from(dir).join("modules"));
    let dirs: Vec<PathBuf> = own.map(PathBuf::from).chain(synced).collect();
    // The name of a module is checked to be one: it leads nowhere else.
    let file = format!("{module}.py");
    let mut files = dirs.iter().map(|dir| dir.join(&file));
    files.find(|file| file.is_file()).with_context(|| {
        let looked: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
        format!(
            "master_type is func, but there is no {file} in {}",
            looked.join(", ")
        )
    })
}

/// Python, isolated: no module comes from the directory that this is started
/// in, which others may be able to write.
fn command(file: &Path, function: &str) -> Command {
    let mut command = child::command("python3");
    command
        .args(["-I", "-B", "-X", "utf8", "-c", SCRIPT])
        .arg(file)
        .arg(function);
    command
}

fn run(file: &Path, function: &str, opts: &Map) -> Result<Value> {
    let opts = halite_output::render(
        Some("json"),
        &Value::Map(opts.clone()),
        &halite_output::RenderOptions::default(),
    );
    let mut child = command(file, function)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("needs python3, which could not be run")?;
    if let Some(mut input) = child.stdin.take() {
        std::thread::spawn(move || {
            // A function that fails early says why on its own.
            let _ = input.write_all(opts.as_bytes());
        });
    }
    let answer = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        let read = answer.map(|answer| answer.take(ANSWER_BYTES_MAX).read_to_string(&mut text));
        read.transpose().map(|_| text)
    });
    wait(&mut child)?;
    let text = reading.join().ok().context("could not be read")??;
    let node = halite_yaml::load(&text, "its answer").context("did not print JSON")?;
    Ok(node.into_value())
}

fn wait(child: &mut Child) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "fails");
            return Ok(());
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            bail!("takes more than {} s", TIMEOUT.as_secs());
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "open(__file__ + '.ran', 'w')\nraise SystemExit(3)\n";

    /// Whoever can write to the directory that root starts a minion in must not
    /// run code as root.
    #[test]
    fn no_module_comes_from_the_current_directory() {
        let dir = tempfile::tempdir().unwrap();
        for module in ["json", "importlib", "encodings"] {
            std::fs::write(dir.path().join(format!("{module}.py")), HOSTILE).unwrap();
        }
        let file = dir.path().join("named.py");
        std::fs::write(&file, "def masters():\n    return __opts__['id']\n").unwrap();
        let mut child = command(&file, "masters")
            .current_dir(dir.path())
            .env("PYTHONPATH", dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"{\"id\": \"m1\"}").unwrap();
        drop(input);
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.stdout, b"\"m1\"");
        let ran = std::fs::read_dir(dir.path()).unwrap().flatten();
        let ran: Vec<_> = ran
            .map(|entry| entry.file_name())
            .filter(|name| name.to_string_lossy().ends_with(".ran"))
            .collect();
        assert!(ran.is_empty(), "{ran:?}");
    }

    #[test]
    fn the_options_are_on_no_command_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("named.py");
        let body = "import sys\ndef masters():\n    line = open('/proc/self/cmdline').read()\n    \
                    return __opts__['password'] if 'hunter2' not in line else 'shown'\n";
        std::fs::write(&file, body).unwrap();
        let opts = Map::from([("password", "hunter2")]);
        assert_eq!(run(&file, "masters", &opts).unwrap(), "hunter2".into());
    }
}
