//! Running pip: which one, and with which options.
use std::path::Path;

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::options::install_options;
use crate::python::pep440;
use crate::python::requirement::normal_name;

/// Runs the module `pip` as `-m pip` does, but does not look for it in the current
/// directory: with `cwd`, somebody else may own that. `-P` says the same from Python
/// 3.11 on only.
const RUN_MODULE: &str = "import sys; del sys.path[:sys.path[:1] == ['']]; import runpy; \
     runpy.run_module('pip', run_name='__main__', alter_sys=True)";

/// A pip: which, whose, where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pip {
    pub(crate) bin_env: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) env: Value,
}

impl Pip {
    /// That of a call's arguments.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let text = |name: &str| call.text_given(name);
        Self {
            bin_env: text("bin_env"),
            user: text("user"),
            cwd: text("cwd"),
            env: call.get("env_vars").cloned().unwrap_or_default(),
        }
    }

    /// The words that start it.
    pub(super) fn words(&self, call: &Call<'_>) -> Result<Vec<String>, CallError> {
        let host = call.host();
        let Some(env) = &self.bin_env else {
            let found = ["pip3", "pip"].into_iter().find(|name| host.has(name));
            return Ok(match found {
                Some(pip) => vec![pip.to_owned()],
                None if host.has("python3") => module("python3".to_owned()),
                None => {
                    return Err(CallError::NotFound(
                        "Could not find a `pip` binary".to_owned(),
                    ));
                }
            });
        };
        let path = host.path(env);
        if path.is_dir() {
            return ["python", "bin/python", "bin/python3"]
                .iter()
                .map(|name| path.join(name))
                .find(|path| is_program(path))
                .map(|python| module(python.display().to_string()))
                .ok_or_else(|| {
                    CallError::NotFound(format!("Could not find a pip binary in virtualenv {env}"))
                });
        }
        if !is_program(&path) {
            return Err(CallError::NotFound(format!(
                "Access denied to {env}, could not find a pip binary"
            )));
        }
        let is_python = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains("python"));
        Ok(if is_python {
            module(path.display().to_string())
        } else {
            vec![path.display().to_string()]
        })
    }

    pub(super) fn run(&self, call: &Call<'_>, words: &[String]) -> Result<Ran, CallError> {
        let mut line = self.words(call)?;
        line.extend(words.iter().cloned());
        let mut program = Program::new(call, &line)
            .user(self.user.as_deref())
            .cwd(self.cwd.as_deref())
            .envs(&self.env);
        if let Some(env) = self.bin_env.as_ref().filter(|env| Path::new(env).is_dir()) {
            program = program.env("VIRTUAL_ENV", env.as_str());
        }
        program.run()
    }

    /// Its version, empty if it does not say.
    pub(crate) fn version(&self, call: &Call<'_>) -> Result<String, CallError> {
        let ran = self.run(call, &["--version".to_owned()])?;
        // pip 23.0 from ...
        let version = ran.stdout.strip_prefix("pip ");
        let version = version.and_then(|rest| rest.split_whitespace().next());
        Ok(version.unwrap_or_default().to_owned())
    }

    /// The installed packages as requirements.
    pub(crate) fn freeze(&self, call: &Call<'_>) -> Result<Vec<String>, CallError> {
        let words = ["freeze", "--all"].map(str::to_owned);
        let ran = self.run(call, &words)?;
        if !ran.ok() {
            return Err(CallError::command(ran.stderr));
        }
        Ok(ran.stdout.lines().map(str::to_owned).collect())
    }

    /// The installed packages with their versions; only `prefix`, if given.
    pub(crate) fn list(&self, call: &Call<'_>, prefix: Option<&str>) -> Result<Map, CallError> {
        let prefix = prefix.map(normal_name);
        let words = ["list", "--format=json", "--disable-pip-version-check"].map(str::to_owned);
        let ran = self.run(call, &words)?;
        if !ran.ok() {
            return Err(CallError::command(ran.stderr));
        }
        let mut packages = Map::new();
        // JSON is YAML.
        let loaded = halite_yaml::load(&ran.stdout, "pip list")
            .map(|node| node.into_value())
            .map_err(|error| CallError::command(error.to_string()))?;
        for package in loaded.as_list().unwrap_or_default() {
            let text = |key: &str| package.get(key).map(python::str).unwrap_or_default();
            let name = normal_name(&text("name"));
            if prefix.as_ref().is_none_or(|prefix| *prefix == name) {
                packages.insert(name, text("version"));
            }
        }
        Ok(packages)
    }

    /// All versions that an index has, the oldest first.
    pub(crate) fn versions(
        &self,
        call: &Call<'_>,
        name: &str,
        index: &[String],
    ) -> Result<Vec<String>, CallError> {
        let mut words = vec!["index".to_owned(), "versions".to_owned(), name.to_owned()];
        words.extend(index.iter().cloned());
        let ran = self.run(call, &words)?;
        let line = ran
            .stdout
            .lines()
            .find_map(|line| line.trim().strip_prefix("Available versions:"));
        let mut versions: Vec<String> = line
            .unwrap_or_default()
            .split(',')
            .map(|version| version.trim().to_owned())
            .filter(|version| !version.is_empty())
            .collect();
        versions.sort_by(|a, b| pep440::compare(a, b).unwrap_or(std::cmp::Ordering::Equal));
        Ok(versions)
    }

    /// Installs what the arguments say.
    pub(crate) fn install(&self, call: &Call<'_>, args: &Map) -> Result<Ran, CallError> {
        let mut words = vec!["install".to_owned()];
        words.extend(requirement_files(call, args)?);
        words.extend(install_options(args)?);
        let mut named = args.contains_key("requirements")
            && args.get("requirements").is_some_and(Value::is_true);
        let pkgs = comma_list(args.get("pkgs"));
        named |= !pkgs.is_empty();
        words.extend(pkgs.iter().map(|pkg| pkg.replace(';', ",")));
        for entry in comma_list(args.get("editable")) {
            let has_egg = entry.contains("egg=")
                || entry == "."
                || entry.starts_with(['/'])
                || entry.starts_with("file://");
            if !has_egg {
                return Err(CallError::command(
                    "You must specify an egg for this editable",
                ));
            }
            words.extend(["--editable".to_owned(), entry]);
            named = true;
        }
        if !named {
            return Ok(Ran {
                stdout: "No packages to install.".to_owned(),
                ..Ran::default()
            });
        }
        for host in comma_list(args.get("trusted_host")) {
            words.extend(["--trusted-host".to_owned(), host]);
        }
        match args.get("extra_args") {
            Some(Value::List(items)) => {
                for item in items {
                    match item {
                        Value::Map(map) => {
                            for (key, value) in map {
                                words.extend([python::str(key), python::str(value)]);
                            }
                        }
                        other => words.push(python::str(other)),
                    }
                }
            }
            Some(other) if other.is_true() => words.push(python::str(other)),
            _ => {}
        }
        self.run(call, &words)
    }
}

/// The words that run the pip of a Python.
fn module(python: String) -> Vec<String> {
    vec![python, "-c".to_owned(), RUN_MODULE.to_owned()]
}

pub(super) fn is_program(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

/// Items of a list or of comma separated text.
pub(super) fn comma_list(value: Option<&Value>) -> Vec<String> {
    value.map(python::texts).unwrap_or_default()
}

/// `--requirement` for each file, fetched first where it is a URL.
pub(super) fn requirement_files(call: &Call<'_>, args: &Map) -> Result<Vec<String>, CallError> {
    let saltenv = args
        .get("saltenv")
        .cloned()
        .unwrap_or_else(|| "base".into());
    let mut words = Vec::new();
    for file in comma_list(args.get("requirements")) {
        let mut path = file.clone();
        if file.starts_with("salt://") {
            let cached = call.salt(
                "cp.cache_file",
                &[file.as_str().into(), saltenv.clone()],
                Map::new(),
            )?;
            if !cached.is_true() {
                return Err(CallError::command(format!(
                    "pip requirements file '{file}' not found"
                )));
            }
            path = python::str(&cached);
        }
        words.extend(["--requirement".to_owned(), path]);
    }
    Ok(words)
}

/// What a program came to, in the shape of `cmd.run_all`.
pub(crate) fn ran_map(ran: Ran) -> Map {
    Map::from([
        ("retcode", Value::from(ran.code)),
        ("stdout", ran.stdout.into()),
        ("stderr", ran.stderr.into()),
    ])
}
