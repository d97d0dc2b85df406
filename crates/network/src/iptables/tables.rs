//! The calls of `iptables`, and the files of its rules.

use std::path::Path;

use halite_call::host::{Ran, replace_file};
use halite_call::{Call, CallError, CallResult, os_error, paths, python};
use halite_proto::{Map, Value};

use super::{parse, rule};
use crate::program;

pub(super) const NO_CHAIN: &str = "Error: Chain needs to be specified";
pub(super) const NO_RULE: &str = "Error: Rule needs to be specified";

/// The rules of one family of addresses.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'c, 'a> {
    pub(crate) call: &'c Call<'a>,
    family: Family,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl<'c, 'a> Tables<'c, 'a> {
    /// The tables of the argument `family`.
    pub(crate) fn from_call(call: &'c Call<'a>) -> Self {
        Self::named(call, call.arg("family"))
    }

    pub(crate) fn named(call: &'c Call<'a>, family: &Value) -> Self {
        let family = match family.as_str() {
            Some("ipv6") => Family::V6,
            _ => Family::V4,
        };
        Self { call, family }
    }

    fn program(self) -> Result<String, CallError> {
        let name = match self.family {
            Family::V4 => "iptables",
            Family::V6 => "ip6tables",
        };
        let path = self.call.host().which(name);
        let path = path.ok_or_else(|| CallError::command(format!("{name} is not installed")))?;
        Ok(path.display().to_string())
    }

    /// Runs the program with the words of `line`.
    pub(super) fn run(self, line: &str) -> Result<Ran, CallError> {
        program::run(self.call, &format!("{} {line}", self.program()?))
    }

    fn has_option(self, option: &str) -> Result<bool, CallError> {
        Ok(self.run("--help")?.stdout.contains(option))
    }

    /// `--wait` where the program knows it.
    fn wait(self) -> Result<&'static str, CallError> {
        Ok(if self.has_option("--wait")? {
            "--wait"
        } else {
            ""
        })
    }

    /// What the program complains about when it is to change something.
    pub(super) fn change(self, line: &str) -> Result<String, CallError> {
        Ok(self.run(&format!("{} {line}", self.wait()?))?.stderr)
    }

    /// The whole command line of a rule.
    pub(crate) fn command(
        self,
        table: &str,
        chain: &str,
        command: &str,
        position: &str,
        rule: &str,
    ) -> Result<String, CallError> {
        let dash = if "ACDIRLSFZNXPE".contains(command) {
            "-"
        } else {
            "--"
        };
        Ok(format!(
            "{} {} -t {table} {dash}{command} {chain} {position} {rule}",
            self.program()?,
            self.wait()?
        ))
    }

    /// The rule that arguments describe, or a sentence on what is wrong.
    pub(crate) fn rule(kwargs: Map) -> Result<String, &'static str> {
        rule::build(kwargs)
    }

    pub(super) fn saved(self) -> Result<String, CallError> {
        let line = format!("{}-save", self.program()?);
        Ok(program::run(self.call, &line)?.stdout)
    }

    /// The rules that are in force.
    pub(crate) fn rules(self) -> Result<Map, CallError> {
        parse::listing(&self.saved()?)
    }

    /// The rules of a file.
    pub(crate) fn saved_rules(self, file: Option<&str>) -> Result<Map, CallError> {
        let default = self.file()?;
        let file = file.unwrap_or(default);
        let text = paths::read_to_string(self.call.host().path(file))
            .map_err(|error| os_error(&error, file))?;
        parse::listing(&text)
    }

    /// The file that keeps rules on this system.
    fn file(self) -> Result<&'static str, CallError> {
        let grains = self.call.ctx.grains();
        let grain = |name: &str| grains.get(name).map(python::str).unwrap_or_default();
        let (v4, v6) = match (grain("os_family").as_str(), grain("os").as_str()) {
            ("RedHat", _) => ("/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables"),
            ("Arch" | "Void", _) => (
                "/etc/iptables/iptables.rules",
                "/etc/iptables/ip6tables.rules",
            ),
            ("Debian", _) => ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6"),
            (_, "Gentoo") => (
                "/var/lib/iptables/rules-save",
                "/var/lib/ip6tables/rules-save",
            ),
            ("Suse", _) => {
                let both = "/etc/sysconfig/scripts/SuSEfirewall2-custom";
                (both, both)
            }
            (_, "Alpine") => ("/etc/iptables/rules-save", "/etc/iptables/rules6-save"),
            ("NILinuxRT", _) => (
                "/etc/natinst/share/iptables.conf",
                "/etc/natinst/share/ip6tables.conf",
            ),
            (_, os) => {
                return Err(CallError::exception(
                    "salt.exceptions.SaltException",
                    format!("Saving iptables to file is not supported on {os}."),
                ));
            }
        };
        Ok(if self.family == Family::V6 { v6 } else { v4 })
    }

    /// Whether the rules in force are others than those of the file.
    pub(crate) fn unsaved(self, file: Option<&str>) -> Result<bool, CallError> {
        let place = match file {
            Some(file) => file,
            None => self.file()?,
        };
        if !self.call.host().path(place).exists() {
            return Ok(true);
        }
        let saved = self.saved_rules(file)?;
        Ok(rule_lists(&self.rules()?) != rule_lists(&saved))
    }

    /// Keeps the rules that are in force in a file.
    pub(crate) fn save(self, file: Option<&str>) -> Result<String, CallError> {
        let default = self.file()?;
        let file = file.unwrap_or(default);
        let path = self.call.host().path(file);
        let unwritable = |error| os_error(&error, file);
        if let Some(parent) = path.parent() {
            paths::create_dir_all(parent).map_err(unwritable)?;
        }
        let text = self.filtered(self.saved()?)?;
        replace_file(Path::new(&path), format!("{text}\n").as_bytes()).map_err(unwritable)?;
        Ok(format!("Wrote 1 lines to \"{file}\""))
    }

    /// Without the lines that the option `iptables.save_filters` matches.
    fn filtered(self, text: String) -> Result<String, CallError> {
        let name = Value::from("iptables.save_filters");
        let none = Value::List(Vec::new());
        let patterns = self.call.salt("config.option", &[name, none], Map::new())?;
        let mut filters = Vec::new();
        for pattern in python::texts(&patterns) {
            match fancy_regex::Regex::new(&pattern) {
                Ok(regex) => filters.push(regex),
                Err(error) => tracing::warn!("iptables.save_filters: {pattern}: {error}"),
            }
        }
        if filters.is_empty() {
            return Ok(text);
        }
        let kept = |line: &&str| {
            !filters
                .iter()
                .any(|filter| filter.is_match(line).unwrap_or(false))
        };
        Ok(text.split_inclusive('\n').filter(kept).collect())
    }

    /// Whether the chain has the rule.
    pub(crate) fn has(self, table: &str, chain: &str, rule: &str) -> Result<bool, CallError> {
        if self.has_option("--check")? {
            return Ok(self.run(&format!("-t {table} -C {chain} {rule}"))?.ok());
        }
        // An old program: the rule is put into a chain of its own to see how
        // the program writes it.
        let own = format!("halite-{}", std::process::id());
        self.run(&format!("-t {table} -N {own}"))?;
        self.run(&format!("-t {table} -A {own} {rule}"))?;
        let listing = self.saved()?;
        self.run(&format!("-t {table} -F {own}"))?;
        self.run(&format!("-t {table} -X {own}"))?;
        let begin = format!("-A {own} ");
        let written = listing
            .lines()
            .filter(|line| line.starts_with(&begin))
            .map(|line| line.replace(&own, chain));
        Ok(written
            .into_iter()
            .any(|line| listing.lines().any(|other| other == line)))
    }

    pub(crate) fn has_chain(self, table: &str, chain: &str) -> Result<bool, CallError> {
        let line = format!("{}-save -t {table}", self.program()?);
        let listing = program::run(self.call, &line)?.stdout;
        Ok(listing.contains(&format!(":{chain} ")))
    }

    pub(crate) fn append(self, table: &str, chain: &str, rule: &str) -> Result<bool, CallError> {
        let wait = self.wait()?;
        if self.has(table, chain, rule)? {
            return Ok(false);
        }
        let ran = self.run(&format!("{wait} -t {table} -A {chain} {rule}"))?;
        Ok(ran.stderr.is_empty())
    }

    /// The complaint of the program, or false when the rule is there.
    pub(crate) fn insert(
        self,
        table: &str,
        chain: &str,
        position: &Value,
        rule: &str,
    ) -> CallResult {
        let mut place = match position {
            Value::Int(_) | Value::Bool(_) => python::int(position)?,
            other => {
                return Err(CallError::wrong_type(format!(
                    "'<' not supported between instances of '{}' and 'int'",
                    other.type_name()
                )));
            }
        };
        if place < 0 {
            let rules = self.rules()?;
            let missing = |what: &str| CallError::exception("KeyError", format!("'{what}'"));
            let count = rules
                .get(table)
                .ok_or_else(|| missing(table))?
                .get(chain)
                .ok_or_else(|| missing(chain))?
                .get("rules")
                .and_then(Value::as_list)
                .map_or(0, <[Value]>::len);
            place = place.saturating_add(i64::try_from(count).unwrap_or(i64::MAX)) + 1;
            if place == 0 {
                place = 1;
            }
        }
        let wait = self.wait()?;
        if self.has(table, chain, rule)? {
            return Ok(false.into());
        }
        let ran = self.run(&format!("{wait} -t {table} -I {chain} {place} {rule}"))?;
        Ok(ran.stderr.into())
    }

    pub(crate) fn delete(self, table: &str, chain: &str, rule: &str) -> Result<String, CallError> {
        self.change(&format!("-t {table} -D {chain} {rule}"))
    }

    pub(crate) fn flush(self, table: &str, chain: &str) -> Result<String, CallError> {
        self.change(&format!("-t {table} -F {chain}"))
    }

    pub(crate) fn new_chain(self, table: &str, chain: &str) -> Result<String, CallError> {
        self.change(&format!("-t {table} -N {chain}"))
    }

    pub(crate) fn delete_chain(self, table: &str, chain: &str) -> Result<String, CallError> {
        self.change(&format!("-t {table} -X {chain}"))
    }

    pub(crate) fn set_policy(
        self,
        table: &str,
        chain: &str,
        policy: &str,
    ) -> Result<String, CallError> {
        self.change(&format!("-t {table} -P {chain} {policy}"))
    }

    pub(crate) fn policy(self, table: &str, chain: &str) -> CallResult {
        Ok(policy_of(&self.rules()?, table, chain))
    }
}

/// The policy of a chain, nothing if there is no such chain.
pub(super) fn policy_of(rules: &Map, table: &str, chain: &str) -> Value {
    let chain = rules.get(table).and_then(|table| table.get(chain));
    let policy = chain.and_then(|chain| chain.get("policy"));
    policy.cloned().unwrap_or_default()
}

/// The rules of all chains.
fn rule_lists(tables: &Map) -> Vec<Value> {
    let chains = tables.iter().filter_map(|(_, table)| table.as_map());
    chains
        .flat_map(|chains| chains.iter())
        .filter_map(|(_, chain)| chain.get("rules").cloned())
        .collect()
}
