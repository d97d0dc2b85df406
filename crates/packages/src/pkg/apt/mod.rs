//! Debian's package tools: `dpkg` and `apt-get`.

mod install;
pub(crate) mod keys;
pub(crate) mod known_keys;
mod policy;
mod query;
pub(crate) mod repos;
pub(crate) mod restarts;
mod selections;
pub(crate) mod source_list;
pub(crate) mod sources;

use std::cmp::Ordering;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use halite_modules::Call;
use halite_modules::host::{Program, Ran};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{FileInfo, Files, Listing, Provider};
use super::{lists, version};

/// How often a locked database is tried again; the pauses double from 2 s.
const LOCK_TRIES_MAX: u32 = 10;

/// How long an update of the lists may take before the cache is cleaned.
const REFRESH_SECONDS: i64 = 30;

/// Keeps the tools from asking.
pub(super) const SILENT: &[(&str, &str)] = &[
    ("APT_LISTBUGS_FRONTEND", "none"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("UCF_FORCE_CONFFOLD", "1"),
];

/// `apt-get` and `dpkg`.
pub(crate) struct Apt;

impl Provider for Apt {
    fn name(&self) -> &'static str {
        "apt"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        let all = all(call)?;
        let part = |name: &str| {
            all.get(name)
                .and_then(Value::as_map)
                .cloned()
                .unwrap_or_default()
        };
        Ok(match listing {
            Listing::Removed => part("removed"),
            Listing::PurgeDesired => part("purge_desired"),
            Listing::Installed => {
                let mut list = part("purge_desired");
                list.extend(part("installed"));
                list
            }
        })
    }

    fn normalize(&self, call: &Call<'_>, name: &str) -> String {
        let grains = call.ctx.grains();
        let own = grains.get("osarch").and_then(Value::as_str);
        match name.rsplit_once(':') {
            Some((short, arch)) if Some(arch) == own || arch == "all" || arch == "any" => {
                short.to_owned()
            }
            _ => name.to_owned(),
        }
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::debian(a, b)
    }

    fn refresh(&self, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
        refresh(call, kwargs)
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        policy::latest(call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        install::install(call, kwargs)
    }

    fn remove(&self, call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
        install::remove(call, purge, kwargs)
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        policy::upgrades(call, kwargs)
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        install::upgrade(call, kwargs)
    }

    fn available(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        policy::available(call, names)
    }

    fn held(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        let selections = selections::get(call, None)?;
        Ok(lists::versions(&selections, "hold"))
    }

    fn hold(&self, call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
        selections::hold(call, hold, names)
    }

    fn autoremove(&self, call: &Call<'_>, list: bool, purge: bool) -> Result<Value, PkgError> {
        install::autoremove(call, list, purge)
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        query::owner(call, path)
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        query::files(call, names)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        query::file_info(call, path).map(Some)
    }

    fn info(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        let failhard = kwargs.get("failhard").is_none_or(Value::is_true);
        query::info(call, names, failhard)
    }

    fn unpurge(&self, call: &Call<'_>, names: &[String]) -> Option<Result<Map, PkgError>> {
        Some(selections::unpurge(call, names))
    }
}

pub(crate) use query::{info_plain, list_plain, show};
pub(crate) use selections::{
    get as get_selections, parse as parse_selections, set as set_selections,
};

/// Runs one of the tools; waits where another holds the database.
pub(super) fn run(call: &Call<'_>, program: impl Fn() -> Tool) -> Result<Ran, PkgError> {
    let mut pause = 1;
    let mut ran = program().run(call)?;
    for _ in 0..LOCK_TRIES_MAX {
        if !ran.stderr.contains("Could not get lock") {
            break;
        }
        pause *= 2;
        tracing::warn!(pause, "the package database is locked");
        if !call.cancel().sleep(Duration::from_secs(pause)) {
            break;
        }
        ran = program().run(call)?;
    }
    Ok(ran)
}

/// One of the tools with its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct Tool {
    pub(super) words: Vec<String>,
    pub(super) env: Value,
    pub(super) silent: bool,
    pub(super) scoped: bool,
    pub(super) may_fail: bool,
    pub(super) stdin: Option<String>,
    pub(super) timeout: Option<i64>,
}

impl Tool {
    pub(super) fn new<S: AsRef<str>>(words: &[S]) -> Self {
        Self {
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            ..Self::default()
        }
    }

    /// A tool that changes the system: asks nothing, and does not die with the
    /// minion, which it may itself replace.
    pub(super) fn changing(words: Vec<String>) -> Self {
        Self {
            words,
            silent: true,
            scoped: true,
            ..Self::default()
        }
    }

    fn run(self, call: &Call<'_>) -> Result<Ran, PkgError> {
        let mut words = Vec::new();
        if self.scoped {
            words.extend(crate::scope(call).iter().map(|word| (*word).to_owned()));
        }
        words.extend(self.words);
        let mut program = Program::new(call, &words).envs(&self.env);
        if self.silent {
            for (name, value) in SILENT {
                program = program.env(name, *value);
            }
        }
        if self.may_fail {
            program = program.may_fail();
        }
        if let Some(stdin) = self.stdin {
            program = program.stdin(stdin);
        }
        if let Some(timeout) = self.timeout {
            program = program.option("timeout", timeout);
        }
        Ok(program.run()?)
    }
}

/// All packages in three lists. A state run asks once while the database stays
/// as it is.
fn all(call: &Call<'_>) -> Result<Map, PkgError> {
    const KEY: &str = "pkg.list_pkgs";
    let stamp = call
        .host()
        .path("/var/lib/dpkg/status")
        .metadata()
        .map(|meta| {
            Value::List(vec![
                meta.ino().into(),
                meta.mtime().into(),
                meta.mtime_nsec().into(),
                meta.size().into(),
            ])
        })
        .unwrap_or_default();
    if !stamp.is_nil()
        && let Some(Value::Map(kept)) = lists::remembered(call, KEY, &stamp)
    {
        return Ok(kept);
    }
    let lists = read_all(call)?;
    lists::remember(call, KEY, stamp, lists.clone().into());
    Ok(lists)
}

fn read_all(call: &Call<'_>) -> Result<Map, PkgError> {
    let ran = Program::new(
        call,
        &[
            "dpkg-query",
            "--showformat",
            "${Status} ${Package} ${Version} ${Architecture}\n",
            "-W",
        ],
    )
    .run()?;
    let grains = call.ctx.grains();
    let (mut installed, mut removed, mut purge) = (Map::new(), Map::new(), Map::new());
    for line in ran.stdout.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [wanted, _, status, name, version, arch, ..] = columns.as_slice() else {
            continue;
        };
        let name = with_arch(&grains, name, arch);
        if (wanted.contains("install") || wanted.contains("hold")) && status.contains("installed") {
            lists::add(&mut installed, &name, version);
        } else if wanted.contains("deinstall") {
            lists::add(&mut removed, &name, version);
        } else if wanted.contains("purge") && *status == "installed" {
            lists::add(&mut purge, &name, version);
        }
    }
    for list in [&mut installed, &mut removed, &mut purge] {
        lists::sort(list);
    }
    Ok(Map::from([
        ("installed", installed),
        ("removed", removed),
        ("purge_desired", purge),
    ]))
}

/// A package of another architecture has it in its name.
pub(super) fn with_arch(grains: &Map, name: &str, arch: &str) -> String {
    let text = |key: &str| grains.get(key).and_then(Value::as_str).unwrap_or_default();
    let foreign = text("cpuarch") == "x86_64"
        && arch != "all"
        && text("osarch") == "amd64"
        && arch != "amd64";
    if foreign {
        format!("{name}:{arch}")
    } else {
        name.to_owned()
    }
}

fn refresh(call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
    crate::pkg::clear_refresh_tag(call);
    let mut repos = Map::new();
    let valid_seconds = kwargs.get("cache_valid_time").and_then(Value::as_f64);
    if let Some(seconds) = valid_seconds.filter(|seconds| *seconds > 0.0)
        && crate::pkg::is_younger(&call.host().path("/var/lib/apt/lists"), seconds)
    {
        return Ok(repos.into());
    }
    let update = || Tool::new(&["apt-get", "-q", "update"]);
    let timeout = kwargs
        .get("timeout")
        .or_else(|| call.ctx.opts().get("aptpkg_refresh_db_timeout"))
        .and_then(Value::as_i64)
        .unwrap_or(REFRESH_SECONDS);
    let mut ran = run(call, || Tool {
        timeout: Some(timeout),
        ..update()
    })?;
    if ran.stdout.contains("Timed out") {
        run(call, || Tool::new(&["apt-get", "-q", "clean"]))?;
        ran = run(call, update)?;
    }
    if !ran.ok() {
        return Err(PkgError::command(ran.stderr));
    }
    let mut failed = Vec::new();
    for line in ran.stdout.lines() {
        let mut columns = line.split_whitespace();
        let Some(kind) = columns.next() else {
            continue;
        };
        let mut repo = columns.collect::<Vec<_>>().join(" ");
        let state = if kind.contains("Get") {
            if let Some(at) = repo.rfind(" [").filter(|_| repo.ends_with("B]")) {
                repo.truncate(at);
            }
            Value::Bool(true)
        } else if kind.contains("Ign") {
            Value::Bool(false)
        } else if kind.contains("Hit") {
            Value::Nil
        } else if kind.contains("Err") {
            failed.push(repo.clone());
            Value::Bool(false)
        } else {
            continue;
        };
        repos.insert(repo, state);
    }
    if kwargs
        .get("failhard")
        .is_some_and(halite_modules::host::is_true)
        && !failed.is_empty()
    {
        return Err(PkgError::command(format!(
            "Error getting repos: {}",
            failed.join(", ")
        )));
    }
    Ok(repos.into())
}
