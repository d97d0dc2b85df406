//! The calls of `nft`, and the files of its rules.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, os_text, python};
use halite_proto::{Map, Value};

use super::answer::{Answer, Answered, named};
use super::json::objects;
use super::{rule, words};
use crate::program;

/// Families of addresses: Salt's names and that of `nft`.
const FAMILIES: &[(&str, &str)] = &[
    ("ipv4", "ip"),
    ("ip4", "ip"),
    ("ip", "ip"),
    ("ipv6", "ip6"),
    ("ip6", "ip6"),
    ("inet", "inet"),
    ("arp", "arp"),
    ("bridge", "bridge"),
    ("netdev", "netdev"),
];

/// The families whose rules are saved, in order.
const SAVED: [&str; 6] = ["ip", "ip6", "inet", "arp", "bridge", "netdev"];

/// The rules of one family of addresses.
#[derive(Clone)]
pub(crate) struct Tables<'c, 'a> {
    pub(crate) call: &'c Call<'a>,
    /// As the caller names it.
    pub(crate) family: String,
    /// As `nft` names it.
    pub(super) nft: &'static str,
}

impl<'c, 'a> Tables<'c, 'a> {
    /// The tables of the argument `family`.
    pub(crate) fn from_call(call: &'c Call<'a>) -> Result<Self, CallError> {
        let family = call.text("family");
        let found = FAMILIES.iter().find(|(name, _)| *name == family);
        let (_, nft) =
            found.ok_or_else(|| CallError::exception("KeyError", format!("'{family}'")))?;
        Ok(Self { call, family, nft })
    }

    /// What the program says, of both kinds.
    pub(super) fn run(call: &Call<'_>, line: &str) -> Result<String, CallError> {
        if !call.host().has("nft") {
            return Err(CallError::command("nft is not installed"));
        }
        Ok(program::said(&program::run(call, line)?))
    }

    pub(super) fn ask(&self, line: &str) -> Result<String, CallError> {
        Self::run(self.call, line)
    }

    pub(crate) fn rule(&self, kwargs: Map) -> Result<String, CallError> {
        rule::build(kwargs, self.nft)
    }

    /// The command line of a rule.
    pub(crate) fn command(
        &self,
        command: &str,
        table: &str,
        chain: &str,
        position: &str,
        rule: &str,
    ) -> String {
        let nft = self.nft;
        match command {
            "insert" | "Insert" | "INSERT" if position.is_empty() => {
                format!("nft insert rule {nft} {table} {chain} {rule}")
            }
            "insert" | "Insert" | "INSERT" => {
                format!("nft insert rule {nft} {table} {chain} position {position} {rule}")
            }
            other => format!("nft {other} rule {nft} {table} {chain} {rule}"),
        }
    }

    pub(super) fn list_tables(&self) -> Result<Vec<Value>, CallError> {
        self.tables_of(self.nft)
    }

    pub(super) fn tables_of(&self, nft: &str) -> Result<Vec<Value>, CallError> {
        let line = format!("nft --json --numeric --numeric --numeric list tables {nft}");
        let items = objects(&self.ask(&line)?);
        Ok(items
            .into_iter()
            .filter_map(|item| item.get("table").cloned())
            .collect())
    }

    pub(super) fn rules(&self) -> Result<Vec<String>, CallError> {
        self.rules_of(self.nft)
    }

    pub(super) fn rules_of(&self, nft: &str) -> Result<Vec<String>, CallError> {
        let mut rules = Vec::new();
        for table in self.tables_of(nft)? {
            let name = table.get("name").map(python::str).unwrap_or_default();
            let line = format!("nft --numeric --numeric --numeric list table {nft} {name}");
            rules.push(self.ask(&line)?);
        }
        Ok(rules)
    }

    pub(super) fn rules_json(&self) -> Result<Vec<Value>, CallError> {
        let line = format!(
            "nft --numeric --numeric --numeric --json list ruleset {}",
            self.nft
        );
        Ok(objects(&self.ask(&line)?))
    }

    /// The file that keeps rules on this system.
    pub(super) fn file(&self) -> Option<&'static str> {
        let grains = self.call.ctx.grains();
        let grain = |name: &str| grains.get(name).map(python::str).unwrap_or_default();
        let known = ["RedHat", "Arch", "Debian"].contains(&grain("os_family").as_str());
        (known || grain("os") == "Gentoo").then_some("/etc/nftables")
    }

    /// Keeps the rules of all families in a file, and returns them.
    pub(crate) fn save(&self, file: Option<&str>) -> Result<String, CallError> {
        let file = file
            .or_else(|| self.file())
            .ok_or_else(|| CallError::command("there is no file for the rules on this system"))?;
        let mut text = String::from("#! nft -f\n");
        for family in SAVED {
            let rules = self.rules_of(family)?;
            if !rules.is_empty() {
                text.push('\n');
            }
            text += &rules.join("\n");
        }
        text.push('\n');
        let mut path = self.call.host().path(file);
        if path.is_dir() {
            path.push("salt-all-in-one.nft");
        }
        replace_file(&path, text.as_bytes()).map_err(|error| {
            let why = os_text(&error, &path);
            CallError::command(format!("Problem writing to configuration file: {why}"))
        })?;
        Ok(text)
    }

    pub(crate) fn has_table(&self, table: &str) -> Answered {
        if table.is_empty() {
            return Ok(Answer::no("Table needs to be specified"));
        }
        let said = self.ask(&format!("nft list tables {}", self.nft))?;
        let about = format!("Table {table} in family {}", self.family);
        Ok(if said.contains(&format!("table {} {table}", self.nft)) {
            Answer::yes(format!("{about} exists"))
        } else {
            Answer::no(format!("{about} does not exist"))
        })
    }

    pub(crate) fn has_chain(&self, table: &str, chain: &str) -> Answered {
        if chain.is_empty() {
            return Ok(Answer::no("Chain needs to be specified"));
        }
        let said = self.ask(&format!("nft list table {} {table}", self.nft))?;
        let about = format!("Chain {chain} in table {table} in family {}", self.family);
        Ok(if said.contains(&format!("chain {chain} {{")) {
            Answer::yes(format!("{about} exists"))
        } else {
            Answer::no(format!("{about} does not exist"))
        })
    }

    /// The table and the chain are there, else the answer that says what is not.
    pub(super) fn place(&self, table: &str, chain: &str) -> Result<Option<Answer>, CallError> {
        let has = self.has_table(table)?;
        if !has.ok {
            return Ok(Some(has));
        }
        let has = self.has_chain(table, chain)?;
        Ok((!has.ok).then_some(has))
    }

    pub(crate) fn has(&self, table: &str, chain: &str, rule: &str) -> Answered {
        if let Some(answer) = named(chain, rule) {
            return Ok(answer);
        }
        if let Some(answer) = self.place(table, chain)? {
            return Ok(answer);
        }
        let family = &self.family;
        let about = format!("Rule {rule} in chain {chain} in table {table} in family {family}");
        Ok(if self.find(table, chain, rule)?.is_some() {
            Answer::yes(format!("{about} exists"))
        } else {
            Answer::no(format!("{about} does not exist"))
        })
    }

    /// The handle of a rule.
    pub(super) fn find(
        &self,
        table: &str,
        chain: &str,
        rule: &str,
    ) -> Result<Option<String>, CallError> {
        let nft = self.nft;
        let said = self.ask(&format!("nft --handle list chain {nft} {table} {chain}"))?;
        let wanted = words::split(rule);
        Ok(said
            .lines()
            .filter_map(|line| line.split_once(" # handle "))
            .find(|(line, _)| words::split(line) == wanted)
            .map(|(_, handle)| handle.trim().to_owned()))
    }

    /// The handle of a rule, or the answer that says why it was not found.
    pub(super) fn handle(
        &self,
        table: &str,
        chain: &str,
        rule: &str,
    ) -> Result<Result<String, Answer>, CallError> {
        if let Some(answer) = named(chain, rule) {
            return Ok(Err(answer));
        }
        if let Some(answer) = self.place(table, chain)? {
            return Ok(Err(answer));
        }
        let family = &self.family;
        Ok(self.find(table, chain, rule)?.ok_or_else(|| {
            Answer::no(format!(
                "Rule {rule} in chain {chain} in table {table} in family {family} does not exist"
            ))
        }))
    }

    /// What is known of a chain.
    pub(super) fn chain(&self, table: &str, chain: &str) -> Result<Option<Map>, CallError> {
        let wanted = |known: &&Map| {
            known.get("table").and_then(Value::as_str) == Some(table)
                && known.get("name").and_then(Value::as_str) == Some(chain)
        };
        Ok(self
            .rules_json()?
            .iter()
            .filter_map(|item| item.get("chain")?.as_map())
            .find(wanted)
            .cloned())
    }

    pub(crate) fn policy(&self, table: &str, chain: &str) -> Result<Option<String>, CallError> {
        let chain = self.chain(table, chain)?;
        Ok(chain.and_then(|chain| chain.get("policy").map(python::str)))
    }
}
