//! Copying minion data, tokens and banks.

use halite_process::clock::unix_timestamp;
use halite_proto::Value;

use super::{Copied, Outcome};
use crate::banks::Banks;
use crate::error::StoreError;
use crate::kept::{Bank, BankError};
use crate::minion_data::MinionData;
use crate::tokens::Tokens;

/// Banks below each other that are looked into.
const DEPTH_MAX: usize = 16;

/// Copies what minions have told, of one kind. What is newer in the source wins:
/// minions tell it again and again.
///
/// # Errors
/// When one of the places cannot be used.
pub fn copy_data(
    from: &MinionData,
    to: &MinionData,
    bank: Bank,
    is_dry: bool,
) -> Result<Copied, StoreError> {
    let mut copied = Copied::default();
    for id in from.ids(bank)? {
        let Some(data) = from.get(bank, &id)? else {
            continue;
        };
        let is_there = || Ok::<_, StoreError>(to.get(bank, &id)?.as_ref() == Some(&data));
        let outcome = match is_there()? {
            true => Outcome::Known,
            false if is_dry => Outcome::Copied,
            false => {
                to.put(bank, &id, &data)?;
                match is_there()? {
                    true => Outcome::Copied,
                    false => Outcome::Different,
                }
            }
        };
        copied.count(|| id.to_string(), outcome);
    }
    Ok(copied)
}

/// Copies tokens that are not over. Their names are not told.
///
/// # Errors
/// When one of the places cannot be used.
pub fn copy_tokens(from: &Tokens, to: &Tokens, is_dry: bool) -> Result<Copied, StoreError> {
    let now = unix_timestamp();
    let mut copied = Copied::default();
    for token in from.list()? {
        let Some(data) = from.get(&token, now)? else {
            continue;
        };
        let expires = data.get("expire").and_then(Value::as_f64);
        #[expect(clippy::cast_possible_truncation, reason = "seconds; it saturates")]
        let expires = expires.map_or(now, |seconds| seconds as i64);
        let outcome = match to.get(&token, now)? {
            Some(known) if known == data => Outcome::Known,
            Some(_) => Outcome::Different,
            None if is_dry => Outcome::Copied,
            None => {
                to.put(&token, &data, expires)?;
                match to.get(&token, now)? == Some(data) {
                    true => Outcome::Copied,
                    false => Outcome::Different,
                }
            }
        };
        copied.count(|| "a token".to_owned(), outcome);
    }
    Ok(copied)
}

/// Copies a bank of users and those below it; a key that has another value there
/// is left as it is.
///
/// # Errors
/// When the name is none, or one of the places cannot be used.
pub fn copy_bank(from: &Banks, to: &Banks, bank: &str, is_dry: bool) -> Result<Copied, BankError> {
    let mut copied = Copied::default();
    let mut banks = vec![(bank.to_owned(), 0)];
    while let Some((bank, depth)) = banks.pop() {
        for name in from.list(&bank)? {
            let Some(value) = from.fetch(&bank, &name)? else {
                if depth < DEPTH_MAX {
                    banks.push((format!("{bank}/{name}"), depth + 1));
                }
                continue;
            };
            let outcome = match to.fetch(&bank, &name)? {
                Some(known) if known == value => Outcome::Known,
                Some(_) => Outcome::Different,
                None if is_dry => Outcome::Copied,
                None => {
                    to.store(&bank, &name, &value)?;
                    match to.fetch(&bank, &name)? == Some(value) {
                        true => Outcome::Copied,
                        false => Outcome::Different,
                    }
                }
            };
            copied.count(|| format!("{bank}/{name}"), outcome);
        }
    }
    Ok(copied)
}
