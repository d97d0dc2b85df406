//! Creates, changes and removes tables, chains and rules.

use halite_call::{CallError, python};
use halite_proto::Value;

use super::answer::{Answer, Answered, named};
use super::tables::Tables;
use crate::program;

impl Tables<'_, '_> {
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
