//! Small package managers: Alpine's `apk` and Arch's `pacman`.

use std::cmp::Ordering;

use halite_modules::host::{Program, Ran};
use halite_modules::{Call, host, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{FileInfo, Listing, Provider};
use super::targets::{Targets, Wanted, parse_targets};
use super::{lists, version};

/// Alpine's.
pub(crate) static APK: Small = Small { apk: true };

/// Arch's.
pub(crate) static PACMAN: Small = Small { apk: false };

/// One of the two.
pub(crate) struct Small {
    apk: bool,
}

impl Small {
    fn run(&self, call: &Call<'_>, words: &[&str], more: &[String]) -> Result<Ran, PkgError> {
        let mut line = vec![if self.apk { "apk" } else { "pacman" }.to_owned()];
        line.extend(words.iter().map(|word| (*word).to_owned()));
        line.extend(more.iter().cloned());
        Ok(Program::new(call, &line).may_fail().run()?)
    }

    fn joined(&self, call: &Call<'_>) -> Result<Map, PkgError> {
        Ok(lists::joined(&self.list(call, Listing::Installed)?))
    }

    fn change(
        &self,
        call: &Call<'_>,
        words: &[&str],
        more: &[String],
        message: &str,
    ) -> Result<Map, PkgError> {
        let old = self.joined(call)?;
        let ran = self.run(call, words, more)?;
        let changes = lists::differences(&old, &self.joined(call)?);
        if ran.ok() {
            return Ok(changes);
        }
        let errors = Value::List(vec![ran.complaint().into()]);
        Err(PkgError::Tool {
            message: message.to_owned(),
            info: Map::from([("errors", errors), ("changes", changes.into())]),
        })
    }

    fn unsupported(&self, what: &str) -> PkgError {
        PkgError::command(format!("{} has no {what}", self.name()))
    }

    /// A wanted version in the notation of the program.
    fn target(&self, name: &str, version: Option<&str>) -> String {
        match version {
            None | Some("") => name.to_owned(),
            Some(version) if version.starts_with(['<', '>', '=']) => format!("{name}{version}"),
            Some(version) => format!("{name}={version}"),
        }
    }
}

/// `name-1.2-r3` in its parts: the version begins at the last dash but one.
fn apk_parts(text: &str) -> Option<(String, String)> {
    let (rest, release) = text.rsplit_once('-')?;
    let (name, version) = rest.rsplit_once('-')?;
    Some((name.to_owned(), format!("{version}-{release}")))
}

impl Provider for Small {
    fn name(&self) -> &'static str {
        if self.apk { "apk" } else { "pacman" }
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        let mut list = Map::new();
        if listing != Listing::Installed {
            return Ok(list);
        }
        let ran = self.run(call, if self.apk { &["info", "-v"] } else { &["-Q"] }, &[])?;
        for line in ran.stdout.lines() {
            let found = if self.apk {
                apk_parts(line.trim())
            } else {
                line.split_once(' ')
                    .map(|(name, version)| (name.to_owned(), version.to_owned()))
            };
            if let Some((name, version)) = found {
                lists::add(&mut list, &name, &version);
            }
        }
        Ok(list)
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::plain(a, b)
    }

    fn refresh(&self, call: &Call<'_>, _: &Map) -> Result<Value, PkgError> {
        super::clear_refresh_tag(call);
        if self.apk {
            let ran = self.run(call, &["update"], &[])?;
            if !ran.ok() {
                return Err(PkgError::command(ran.stderr));
            }
            return Ok(ran
                .stdout
                .lines()
                .last()
                .is_some_and(|line| line.starts_with("OK"))
                .into());
        }
        let ran = self.run(call, &["-Sy"], &[])?;
        if !ran.ok() {
            let why = ran.stderr;
            return Err(PkgError::command(format!(
                "Error refreshing package databases: {why}"
            )));
        }
        let lines = ran.stdout.lines().filter(|line| !line.starts_with("::"));
        Ok(lines
            .filter_map(|line| {
                let name = line.split_whitespace().next()?;
                Some((name, Value::Bool(!line.contains("is up to date"))))
            })
            .collect::<Map>()
            .into())
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        if kwargs.get("refresh").is_none_or(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        let current = self.list(call, Listing::Installed)?;
        let available = self.available(call, names, kwargs)?;
        let mut latest = Map::new();
        for name in names {
            let newest = lists::versions(&available, name)
                .into_iter()
                .max_by(|a, b| self.compare(a, b))
                .unwrap_or_default();
            let has = lists::versions(&current, name);
            let is_old = has.iter().any(|old| self.compare(old, &newest).is_ge());
            let shown = if is_old && !show_installed {
                ""
            } else {
                &newest
            };
            latest.insert(name.as_str(), shown);
        }
        Ok(latest)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        let refresh = kwargs.get("refresh").is_some_and(host::is_true);
        let (targets, files) = match parse_targets(call, self, kwargs, true)? {
            Targets::None => return Ok(Map::new()),
            Targets::Repository(wanted) => {
                let targets = wanted
                    .iter()
                    .map(|(name, version)| self.target(name, version.as_deref()));
                (targets.collect::<Vec<_>>(), false)
            }
            Targets::Files(files) => (files, true),
        };
        let message = "Problem encountered installing package(s)";
        if self.apk {
            if refresh {
                self.refresh(call, kwargs)?;
            }
            let words: &[&str] = if files {
                &["add", "--allow-untrusted"]
            } else {
                &["add"]
            };
            return self.change(call, words, &targets, message);
        }
        let sync = if refresh { "-Sy" } else { "-S" };
        let words: &[&str] = if files {
            &["-U", "--noprogressbar", "--noconfirm", "--needed"]
        } else {
            &[sync, "--noprogressbar", "--noconfirm", "--needed"]
        };
        self.change(call, words, &targets, message)
    }

    fn remove(&self, call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
        let mut asked = kwargs.clone();
        asked.retain(|key, _| matches!(key.as_str(), Some("name" | "pkgs")));
        let Targets::Repository(wanted) = parse_targets(call, self, &asked, true)? else {
            return Ok(Map::new());
        };
        let current = self.list(call, Listing::Installed)?;
        let targets: Vec<String> = wanted
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| current.contains_key(name))
            .collect();
        if targets.is_empty() {
            return Ok(Map::new());
        }
        let words: &[&str] = match (self.apk, purge) {
            (true, false) => &["del"],
            (true, true) => &["del", "--purge"],
            (false, false) => &["-R", "--noprogressbar", "--noconfirm"],
            (false, true) => &["-Rsc", "--noprogressbar", "--noconfirm"],
        };
        self.change(
            call,
            words,
            &targets,
            "Problem encountered removing package(s)",
        )
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        if kwargs.get("refresh").is_none_or(host::is_true) {
            self.refresh(call, kwargs)?;
        }
        if self.apk {
            let ran = self.run(call, &["upgrade", "-s"], &[])?;
            // (1/2) Upgrading name (1.0-r0 -> 1.1-r0)
            return Ok(ran
                .stdout
                .lines()
                .filter_map(|line| {
                    let (_, rest) = line.split_once("Upgrading ")?;
                    let (name, rest) = rest.split_once(" (")?;
                    let (_, new) = rest.split_once("-> ")?;
                    Some((name, new.trim_end_matches(')')))
                })
                .collect());
        }
        let ran = self.run(call, &["-Qu"], &[])?;
        Ok(ran
            .stdout
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                match words.as_slice() {
                    [name, _, "->", new, ..] => Some((*name, *new)),
                    _ => None,
                }
            })
            .collect())
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        let refresh = kwargs.get("refresh").is_none_or(host::is_true);
        if self.apk && refresh {
            self.refresh(call, kwargs)?;
        }
        let sync = if refresh { "-Suy" } else { "-Su" };
        let words: &[&str] = if self.apk {
            &["upgrade"]
        } else {
            &[sync, "--noprogressbar", "--noconfirm"]
        };
        self.change(call, words, &[], "Problem encountered upgrading packages")
    }

    fn available(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        let mut versions = Map::new();
        let ran = if self.apk {
            self.run(call, &["search", "-x"], names)?
        } else {
            self.run(call, &["-Si"], names)?
        };
        let mut name = "";
        for line in ran.stdout.lines() {
            if self.apk {
                if let Some((name, version)) = apk_parts(line.trim()) {
                    lists::add(&mut versions, &name, &version);
                }
            } else if let Some((key, value)) = line.split_once(':') {
                match key.trim() {
                    "Name" => name = value.trim(),
                    "Version" => lists::add(&mut versions, name, value.trim()),
                    _ => {}
                }
            }
        }
        Ok(versions)
    }

    fn held(&self, _: &Call<'_>) -> Result<Vec<String>, PkgError> {
        Ok(Vec::new())
    }

    fn hold(&self, _: &Call<'_>, _: bool, _: &[String]) -> Result<Map, PkgError> {
        Err(self.unsupported("way to hold packages"))
    }

    fn autoremove(&self, call: &Call<'_>, list: bool, _: bool) -> Result<Value, PkgError> {
        if self.apk {
            return Err(self.unsupported("list of packages that nothing needs"));
        }
        let ran = self.run(call, &["-Qdtq"], &[])?;
        let names: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        if list || names.is_empty() {
            return Ok(Value::List(names.into_iter().map(Value::from).collect()));
        }
        let words = ["-Rs", "--noprogressbar", "--noconfirm"];
        Ok(self
            .change(
                call,
                &words,
                &names,
                "Problem encountered removing package(s)",
            )?
            .into())
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        let path = [path.to_owned()];
        if self.apk {
            let ran = self.run(call, &["info", "-W"], &path)?;
            let owner = ran
                .stdout
                .split_once("is owned by ")
                .map(|(_, name)| name.trim());
            let owner = owner.and_then(apk_parts).map(|(name, _)| name);
            return Ok(owner.unwrap_or_default());
        }
        let ran = self.run(call, &["-Qqo"], &path)?;
        Ok(if ran.ok() { ran.stdout } else { String::new() })
    }

    fn files(
        &self,
        call: &Call<'_>,
        names: &[String],
    ) -> Result<Vec<(String, Vec<String>)>, PkgError> {
        names
            .iter()
            .map(|name| {
                let words: &[&str] = if self.apk {
                    &["info", "-qL"]
                } else {
                    &["-Qlq"]
                };
                let ran = self.run(call, words, std::slice::from_ref(name))?;
                let slash = |line: &str| format!("/{}", line.trim_start_matches('/'));
                let lines = ran.stdout.lines().filter(|line| !line.is_empty());
                Ok((name.clone(), lines.map(slash).collect()))
            })
            .collect()
    }

    fn file_info(&self, _: &Call<'_>, _: &str) -> Result<Option<FileInfo>, PkgError> {
        Ok(None)
    }

    fn info(&self, call: &Call<'_>, names: &[String], _: bool) -> Result<Map, PkgError> {
        let list = self.joined(call)?;
        let wanted: Wanted = names.iter().map(|name| (name.clone(), None)).collect();
        Ok(list
            .iter()
            .filter(|(name, _)| {
                let name = python::str(name);
                wanted.is_empty() || wanted.iter().any(|(known, _)| *known == name)
            })
            .map(|(name, version)| {
                (
                    name.clone(),
                    Value::from(Map::from([("version", version.clone())])),
                )
            })
            .collect())
    }
}
