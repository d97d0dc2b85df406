//! Accepts, rejects and deletes keys, after a question.

use std::io::BufRead;

use halite_crypto::PublicKey;
use halite_key::dropfile::request_rotation;
use halite_key::{Change, KeyState, KeyStore, Listing};
use halite_proto::{Map, MinionId};

use super::keys::Keys;
use super::{ActionError, Program, STATES, ids, notice, sorted};
use crate::{Exit, Screen};

/// What is done to keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyChange {
    Accept,
    Reject,
    Delete,
}

impl KeyChange {
    /// What was done, in the messages.
    fn done(self) -> &'static str {
        match self {
            Self::Accept => "accepted",
            Self::Reject => "rejected",
            Self::Delete => "deleted",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Accept | Self::Reject => "Proceed? [n/Y] ",
            Self::Delete => "Proceed? [N/y] ",
        }
    }

    /// Whether an empty answer means yes.
    fn default_answer(self) -> bool {
        self != Self::Delete
    }
}

impl Program<'_> {
    pub(super) async fn change(
        &mut self,
        kind: KeyChange,
        globs: &str,
        screen: &mut Screen<'_>,
        input: impl BufRead + Send + 'static,
    ) -> Result<Exit, ActionError> {
        let states = self.states(kind);
        let listing = self.keys.listing(&self.settings).await?;
        let listing = listing.matching(globs).only(&states);
        if listing.is_empty() {
            screen.line(&no_match(globs, &self.included()));
            return Ok(Exit::Ok);
        }
        screen.line(&format!(
            "The following keys are going to be {}:",
            kind.done()
        ));
        let shown = STATES
            .into_iter()
            .filter(|state| !listing.in_state(*state).is_empty())
            .map(|state| (state.dir_name(), ids(&listing, state)))
            .collect::<Map>();
        self.show(screen, &shown.into());
        if !self.options.yes {
            screen.text(kind.question());
            match answer(input).await {
                Answer::Text(text) if text.is_empty() && kind.default_answer() => {}
                Answer::Text(text) if text.starts_with(['y', 'Y']) => {}
                Answer::Text(_) => return Ok(Exit::Ok),
                Answer::Interrupted => {
                    screen.error_line("\nExiting on CTRL-c");
                    return Ok(Exit::Failure);
                }
            }
        }
        if let Keys::Master(asked) = &self.keys {
            let done = asked.change(kind, &listing, &states).await?;
            return Ok(tell(kind, &listing, &done, screen));
        }
        let store = self.settings.open_keys()?;
        let (changes, all_done) = apply(kind, &store, &listing, &states, screen)?;
        notice::fire(&self.settings.events, &changes).await;
        if kind != KeyChange::Accept {
            self.cut_off(&store, &changes)?;
        }
        Ok(if all_done { Exit::Ok } else { Exit::Failure })
    }

    /// The states whose keys are meant, besides the pending ones.
    fn included(&self) -> Included {
        Included {
            accepted: self.options.include_accepted || self.rejects_all(),
            rejected: self.options.include_rejected || self.accepts_all(),
            denied: self.options.include_denied,
        }
    }

    fn accepts_all(&self) -> bool {
        self.options.include_all && (self.options.accept.is_some() || self.options.accept_all)
    }

    fn rejects_all(&self) -> bool {
        self.options.include_all && (self.options.reject.is_some() || self.options.reject_all)
    }

    fn states(&self, kind: KeyChange) -> Vec<KeyState> {
        let included = self.included();
        let mut states = vec![KeyState::Pending];
        match kind {
            KeyChange::Delete => return KeyState::ALL.to_vec(),
            KeyChange::Accept if included.rejected => states.push(KeyState::Rejected),
            KeyChange::Reject if included.accepted => states.push(KeyState::Accepted),
            KeyChange::Accept | KeyChange::Reject => {}
        }
        if included.denied {
            states.push(KeyState::Denied);
        }
        states
    }

    /// Cuts off who was rejected or deleted: the master makes a new publish
    /// key, and what is kept about deleted minions goes.
    fn cut_off(&self, store: &KeyStore, changes: &[Change]) -> Result<(), ActionError> {
        let settings = &self.settings;
        if settings.rotates && settings.cachedir.is_dir() {
            request_rotation(&settings.cachedir, &settings.master_id, settings.owner)?;
        }
        if settings.keeps_data {
            return Ok(());
        }
        let known = store.list_all()?;
        let is_known = |id: &MinionId| {
            let is_kept = |change: &Change| settings.keeps_data_of_deleted && change.id == *id;
            known.entries().any(|(_, known)| known == id) || changes.iter().any(is_kept)
        };
        halite_store::open(&settings.places.store)
            .data
            .retain(is_known)
            .map_err(ActionError::Data)?;
        Ok(())
    }
}

struct Included {
    accepted: bool,
    rejected: bool,
    denied: bool,
}

/// Does what was shown, and says so. The truth is false where a key could not
/// be accepted because it is none.
fn apply(
    kind: KeyChange,
    store: &KeyStore,
    listing: &Listing,
    states: &[KeyState],
    screen: &mut Screen,
) -> Result<(Vec<Change>, bool), ActionError> {
    let mut changes = Vec::new();
    let mut all_done = true;
    for state in STATES {
        for id in sorted(listing, state) {
            let done = match kind {
                KeyChange::Delete => {
                    changes.extend(store.delete(id)?);
                    true
                }
                KeyChange::Accept if !is_key(store, state, id)? => {
                    screen.error_line(&format!("Unable to accept invalid key for {id}."));
                    all_done = false;
                    false
                }
                KeyChange::Accept => push(&mut changes, store.accept(id, states)?),
                KeyChange::Reject => push(&mut changes, store.reject(id, states)?),
            };
            if done {
                screen.line(&format!("Key for minion {id} {}.", kind.done()));
            }
        }
    }
    Ok((changes, all_done))
}

/// Says what a master has done.
fn tell(kind: KeyChange, listing: &Listing, done: &[MinionId], screen: &mut Screen) -> Exit {
    let mut exit = Exit::Ok;
    for state in STATES {
        for id in sorted(listing, state) {
            if done.contains(id) {
                screen.line(&format!("Key for minion {id} {}.", kind.done()));
            } else {
                screen.error_line(&format!("The key of {id} could not be {}.", kind.done()));
                exit = Exit::Failure;
            }
        }
    }
    exit
}

fn push(changes: &mut Vec<Change>, change: Option<Change>) -> bool {
    let is_some = change.is_some();
    changes.extend(change);
    is_some
}

fn is_key(store: &KeyStore, state: KeyState, id: &MinionId) -> Result<bool, ActionError> {
    let pem = store.get(state, id)?;
    Ok(pem.is_some_and(|pem| PublicKey::from_pem(&pem).is_ok()))
}

fn no_match(globs: &str, included: &Included) -> String {
    let mut states = vec!["unaccepted"];
    for (is_included, name) in [
        (included.accepted, "accepted"),
        (included.rejected, "rejected"),
        (included.denied, "denied"),
    ] {
        if is_included {
            states.push(name);
        }
    }
    let states = match states.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => states.concat(),
    };
    format!("The key glob '{globs}' does not match any {states} keys.")
}

enum Answer {
    /// A line, without its end; a closed input says no.
    Text(String),
    /// Ctrl-C.
    Interrupted,
}

async fn answer(mut input: impl BufRead + Send + 'static) -> Answer {
    let line = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(1..) => line.trim_end_matches(['\r', '\n']).to_owned(),
            _ => "n".to_owned(),
        }
    });
    tokio::select! {
        line = line => Answer::Text(line.unwrap_or_else(|_| "n".to_owned())),
        Ok(()) = tokio::signal::ctrl_c() => Answer::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_states_that_were_looked_at() {
        let text = |accepted, rejected, denied| {
            let included = Included {
                accepted,
                rejected,
                denied,
            };
            no_match("x*", &included)
        };
        assert_eq!(
            text(false, false, false),
            "The key glob 'x*' does not match any unaccepted keys."
        );
        assert_eq!(
            text(true, false, false),
            "The key glob 'x*' does not match any unaccepted or accepted keys."
        );
        assert_eq!(
            text(true, true, false),
            "The key glob 'x*' does not match any unaccepted, accepted or rejected keys."
        );
    }
}
