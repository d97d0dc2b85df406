//! Real Salt, as far as its returners and cache drivers go: they are loaded by
//! Salt's own loader, with the clients of databases that they need.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Where `cargo xtask peers` puts the clients of databases, below the directory
/// of the releases.
pub const CLIENTS: &str = "database-clients";

/// Loads Salt's modules and calls them, as told on its input.
const SCRIPT: &str = "\
import json, sys
import salt.cache, salt.config, salt.loader
told = json.load(sys.stdin)
opts = salt.config.apply_master_config(told['opts'])
returners = None
for name, args in told['calls']:
    kind, _, function = name.partition('.')
    if kind == 'cache':
        answer = getattr(salt.cache.factory(opts), function)(*args)
    else:
        if returners is None:
            returners = salt.loader.returners(opts, salt.loader.minion_mods(opts))
        answer = returners[name](*args)
    print('ANSWER ' + json.dumps(answer, default=repr))
";

/// A release of Salt with the clients of databases.
#[derive(Debug)]
pub struct Salt {
    python: PathBuf,
    clients: PathBuf,
    dir: tempfile::TempDir,
}

impl Salt {
    /// A release for a test; `None`, and reported, if it is not installed.
    pub fn for_test(release: &str) -> Option<Self> {
        let peers = peers_dir()?;
        let python = peers.join(format!("salt-{release}/bin/python"));
        let clients = peers.join(CLIENTS);
        for path in [&python, &clients] {
            if !path.exists() {
                let missing = format!("no {} (cargo xtask peers)", path.display());
                halite_test_support::not_run(&missing);
                return None;
            }
        }
        let dir = tempfile::tempdir().ok()?;
        Some(Self {
            python,
            clients,
            dir,
        })
    }

    /// Calls functions of returners (`pgjsonb.get_load`) and of the cache
    /// (`cache.fetch`), with a master's options; all three are JSON. Gives an
    /// answer for each.
    ///
    /// # Errors
    /// When one raises; what it says is in the error.
    pub fn call(&self, opts: &str, calls: &str) -> Result<Vec<String>> {
        let root = self.dir.path().display();
        let opts = opts.replacen('{', &format!("{{\"root_dir\": \"{root}\", "), 1);
        let mut child = Command::new(&self.python)
            .args(["-c", SCRIPT])
            .env("PYTHONPATH", &self.clients)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not run {}", self.python.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that does not read it says why below.
            let _ = write!(stdin, "{{\"opts\": {opts}, \"calls\": {calls}}}");
        }
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let answers = said.lines().filter_map(|line| line.strip_prefix("ANSWER "));
        Ok(answers.map(str::to_owned).collect())
    }
}

fn peers_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|dir| !dir.is_empty());
    if let Some(dir) = set("HALITE_PEERS_DIR") {
        return Some(dir.into());
    }
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&set("HOME")?).join(".cache")))?;
    Some(cache.join("halite/peers"))
}
