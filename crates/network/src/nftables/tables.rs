//! What `nft` is asked for, and where its rules are kept.

use halite_modules::host::replace_file;
use halite_modules::{Call, CallError, python};
use halite_proto::{Map, Value};

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

/// Most functions answer whether it went well, and say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    pub(crate) comment: String,
}

impl Answer {
    pub(crate) fn yes(comment: impl Into<String>) -> Self {
        Self {
            ok: true,
            comment: comment.into(),
        }
    }

    pub(crate) fn no(comment: impl Into<String>) -> Self {
        Self {
            ok: false,
            comment: comment.into(),
        }
    }
}

impl From<Answer> for Value {
    fn from(answer: Answer) -> Self {
        Map::from([
            ("comment", Self::from(answer.comment)),
            ("result", answer.ok.into()),
        ])
        .into()
    }
}

/// The rules of one family of addresses.
#[derive(Clone)]
pub(crate) struct Tables<'c, 'a> {
    pub(crate) call: &'c Call<'a>,
    /// As the caller names it.
    pub(crate) family: String,
    /// As `nft` names it.
    nft: &'static str,
}

type Answered = Result<Answer, CallError>;

impl<'c, 'a> Tables<'c, 'a> {
    /// Those of the argument `family`.
    pub(crate) fn of(call: &'c Call<'a>) -> Result<Self, CallError> {
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

    fn ask(&self, line: &str) -> Result<String, CallError> {
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

    fn tables_of(&self, nft: &str) -> Result<Vec<Value>, CallError> {
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

    fn rules_of(&self, nft: &str) -> Result<Vec<String>, CallError> {
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
            CallError::command(format!("Problem writing to configuration file: {error}"))
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
    fn place(&self, table: &str, chain: &str) -> Result<Option<Answer>, CallError> {
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
    fn find(&self, table: &str, chain: &str, rule: &str) -> Result<Option<String>, CallError> {
        let nft = self.nft;
        let said = self.ask(&format!("nft --handle list chain {nft} {table} {chain}"))?;
        let wanted = words::of(rule);
        Ok(said
            .lines()
            .filter_map(|line| line.split_once(" # handle "))
            .find(|(line, _)| words::of(line) == wanted)
            .map(|(_, handle)| handle.trim().to_owned()))
    }

    /// The handle of a rule, or the answer that says why there is none.
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

    pub(crate) fn new_table(&self, table: &str) -> Answered {
        let has = self.has_table(table)?;
        if table.is_empty() || has.ok {
            return Ok(has);
        }
        let about = format!("Table {table} in family {}", self.family);
        self.change(
            &format!("nft add table {} {table}", self.nft),
            format!("{about} created"),
            format!("{about} could not be created"),
        )
    }

    pub(crate) fn delete_table(&self, table: &str) -> Answered {
        let has = self.has_table(table)?;
        if !has.ok {
            return Ok(has);
        }
        let about = format!("Table {table} in family {}", self.family);
        self.change(
            &format!("nft delete table {} {table}", self.nft),
            format!("{about} deleted"),
            format!("{about} could not be deleted"),
        )
    }

    pub(crate) fn new_chain(&self, table: &str, chain: &str, base: [&Value; 3]) -> Answered {
        if chain.is_empty() {
            return Ok(Answer::no("Chain needs to be specified"));
        }
        let has = self.has_table(table)?;
        if !has.ok {
            return Ok(has);
        }
        let about = format!("Chain {chain} in table {table} in family {}", self.family);
        if self.has_chain(table, chain)?.ok {
            return Ok(Answer::no(format!("{about} already exists")));
        }
        let mut line = format!("nft -- add chain {} {table} {chain}", self.nft);
        let [kind, hook, priority] = base;
        if base.iter().any(|value| value.is_true()) {
            if !kind.is_true() || !hook.is_true() {
                return Ok(Answer::no("Table_type, hook, and priority required."));
            }
            line += &format!(
                r" \{{ type {} hook {} priority {}\; \}}",
                python::str(kind),
                python::str(hook),
                python::str(priority)
            );
        }
        self.change(
            &line,
            format!("{about} created"),
            format!("{about} could not be created"),
        )
    }

    pub(crate) fn delete_chain(&self, table: &str, chain: &str) -> Answered {
        if chain.is_empty() {
            return Ok(Answer::no("Chain needs to be specified"));
        }
        if let Some(answer) = self.place(table, chain)? {
            return Ok(answer);
        }
        let about = format!("Chain {chain} in table {table} in family {}", self.family);
        self.change(
            &format!("nft delete chain {} {table} {chain}", self.nft),
            format!("{about} deleted"),
            format!("{about} could not be deleted"),
        )
    }

    /// Adds a rule, or with a position (that may be empty) inserts it.
    pub(crate) fn add(
        &self,
        table: &str,
        chain: &str,
        rule: &str,
        position: Option<&str>,
    ) -> Answered {
        if let Some(answer) = named(chain, rule) {
            return Ok(answer);
        }
        if let Some(answer) = self.place(table, chain)? {
            return Ok(answer);
        }
        let family = &self.family;
        if self.has(table, chain, rule)?.ok {
            return Ok(Answer::no(format!(
                "Rule {rule} chain {chain} in table {table} in family {family} already exists"
            )));
        }
        let line = match position {
            Some(position) => self.command("insert", table, chain, position, rule),
            None => self.command("add", table, chain, "", rule),
        };
        let about = format!("rule \"{rule}\" chain {chain} in table {table} in family {family}.");
        self.change(
            &line,
            format!("Added {about}"),
            format!("Failed to add {about}"),
        )
    }

    /// Deletes a rule, known by its handle or as a whole.
    pub(crate) fn delete(
        &self,
        table: &str,
        chain: &str,
        position: Option<&str>,
        rule: Option<&str>,
    ) -> Answered {
        if position.is_some() && rule.is_some() {
            return Ok(Answer::no("Only specify a position or a rule, not both"));
        }
        if let Some(answer) = self.place(table, chain)? {
            return Ok(answer);
        }
        let family = &self.family;
        let handle = match (position, rule) {
            (Some(position), _) => position.to_owned(),
            (None, rule) => {
                let rule = rule.unwrap_or_default();
                match self.find(table, chain, rule)? {
                    Some(handle) if !rule.is_empty() => handle,
                    _ => {
                        return Ok(Answer::no(format!(
                            "Rule {rule} chain {chain} in table {table} in family {family} does not exist"
                        )));
                    }
                }
            }
        };
        let rule = rule.unwrap_or("None");
        self.change(
            &format!("nft delete rule {} {table} {chain} handle {handle}", self.nft),
            format!("Deleted rule \"{rule}\" in chain {chain} in table {table} in family {family}."),
            format!(
                "Failed to delete rule \"{rule}\" in chain {chain}  table {table} in family {family}"
            ),
        )
    }

    pub(crate) fn flush(&self, table: &str, chain: &str) -> Answered {
        let has = self.has_table(table)?;
        if !has.ok {
            return Ok(has);
        }
        let family = &self.family;
        let (line, about) = if chain.is_empty() {
            (
                format!("nft flush table {} {table}", self.nft),
                format!("from table {table} in family {family}."),
            )
        } else {
            let has = self.has_chain(table, chain)?;
            if !has.ok {
                return Ok(has);
            }
            (
                format!("nft flush chain {} {table} {chain}", self.nft),
                format!("from chain {chain} in table {table} in family {family}."),
            )
        };
        self.change(
            &line,
            format!("Flushed rules {about}"),
            format!("Failed to flush rules {about}"),
        )
    }

    /// Something that `nft` does without a word.
    fn change(&self, line: &str, done: String, failed: String) -> Answered {
        let said = self.ask(line)?;
        Ok(if said.is_empty() {
            Answer::yes(done)
        } else {
            Answer::no(failed)
        })
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

    pub(crate) fn set_policy(
        &self,
        table: &str,
        chain: &str,
        policy: &str,
    ) -> Result<bool, CallError> {
        let Some(known) = self.chain(table, chain)? else {
            return Ok(false);
        };
        let (Some(kind), Some(hook), Some(priority)) =
            (known.get("type"), known.get("hook"), known.get("prio"))
        else {
            return Ok(false);
        };
        let line = format!(
            "nft add chain {} {table} {chain} \"{{ type {} hook {} priority {}; policy {policy}; }}\"",
            self.nft,
            python::str(kind),
            python::str(hook),
            python::str(priority)
        );
        Ok(program::run(self.call, &line)?.ok())
    }
}

/// Whether chain and rule are named, else the answer that says what is not.
fn named(chain: &str, rule: &str) -> Option<Answer> {
    if chain.is_empty() {
        Some(Answer::no("Chain needs to be specified"))
    } else if rule.is_empty() {
        Some(Answer::no("Rule needs to be specified"))
    } else {
        None
    }
}

/// The list `nftables` of what `nft --json` writes; empty if it is something
/// else.
fn objects(text: &str) -> Vec<Value> {
    let Ok(serde_json::Value::Object(mut all)) = serde_json::from_str(text) else {
        return Vec::new();
    };
    match all.remove("nftables") {
        Some(serde_json::Value::Array(items)) => items.into_iter().map(value).collect(),
        _ => Vec::new(),
    }
}

fn value(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => bool.into(),
        Json::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => text.into(),
        Json::Array(items) => Value::List(items.into_iter().map(value).collect()),
        Json::Object(map) => map
            .into_iter()
            .map(|(key, json)| (Value::from(key), value(json)))
            .collect::<Map>()
            .into(),
    }
}
