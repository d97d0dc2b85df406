//! Copying minion data, tokens and banks.

use halite_process::clock::unix_timestamp;
use halite_proto::Value;

use super::{Copied, Entry, Outcome, STEP};
use crate::banks::Banks;
use crate::error::StoreError;
use crate::kept::{Bank, BankError};
use crate::minion_data::MinionData;
use crate::tokens::Tokens;

/// Banks below each other that are looked into.
const DEPTH_MAX: usize = 16;

/// Copies data of minions of one kind. Newer data in the source replaces the data at the
/// destination, since minions send it repeatedly. After every few entries `go_on` is
/// called with the number done and the total, and returns whether to continue.
///
/// # Errors
/// When one of the places cannot be used.
pub fn copy_data(
    from: &MinionData,
    to: &MinionData,
    bank: Bank,
    is_dry: bool,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Copied, StoreError> {
    let mut copied = Copied::default();
    let ids = from.ids(bank)?;
    for (number, id) in ids.iter().enumerate() {
        if number.is_multiple_of(STEP) && !go_on(number, ids.len()) {
            break;
        }
        let Some(data) = from.get(bank, id)? else {
            continue;
        };
        let mut there = to.get(bank, id)?;
        let outcome = match there.as_ref() == Some(&data) {
            true => Outcome::Known,
            false if is_dry => Outcome::Copied,
            false => {
                to.put(bank, id, &data)?;
                there = to.get(bank, id)?;
                match there.as_ref() == Some(&data) {
                    true => Outcome::Copied,
                    false => Outcome::Different,
                }
            }
        };
        let (here, there) = (data.into(), there.map(Value::from));
        let entry = Entry {
            name: id.as_str(),
            here: &here,
            there: there.as_ref(),
        };
        copied.count(entry, outcome)?;
    }
    Ok(copied)
}

/// Copies tokens that have not expired. Their names are not reported. `go_on` is as in
/// [`copy_data`].
///
/// # Errors
/// When one of the places cannot be used.
pub fn copy_tokens(
    from: &Tokens,
    to: &Tokens,
    is_dry: bool,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Copied, StoreError> {
    let now = unix_timestamp();
    let mut copied = Copied::default();
    let tokens = from.list()?;
    for (number, token) in tokens.iter().enumerate() {
        if number.is_multiple_of(STEP) && !go_on(number, tokens.len()) {
            break;
        }
        let Some(data) = from.get(token, now)? else {
            continue;
        };
        let expires = data.get("expire").and_then(Value::as_f64);
        #[expect(clippy::cast_possible_truncation, reason = "seconds; it saturates")]
        let expires = expires.map_or(now, |seconds| seconds as i64);
        let mut there = to.get(token, now)?;
        let outcome = match &there {
            Some(known) if *known == data => Outcome::Known,
            Some(_) => Outcome::Different,
            None if is_dry => Outcome::Copied,
            None => {
                to.put(token, &data, expires)?;
                there = to.get(token, now)?;
                match there.as_ref() == Some(&data) {
                    true => Outcome::Copied,
                    false => Outcome::Different,
                }
            }
        };
        let (here, there) = (data.into(), there.map(Value::from));
        let entry = Entry {
            name: "a token",
            here: &here,
            there: there.as_ref(),
        };
        copied.count(entry, outcome)?;
    }
    Ok(copied)
}

/// Copies a bank of users and those below it; a key that has another value at the
/// destination is left as it is. `go_on` is as in [`copy_data`], with the number found so
/// far.
///
/// # Errors
/// When the name is none, or one of the places cannot be used.
pub fn copy_bank(
    from: &Banks,
    to: &Banks,
    bank: &str,
    is_dry: bool,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Copied, BankError> {
    let mut copied = Copied::default();
    let mut banks = vec![(bank.to_owned(), 0)];
    let (mut done, mut found) = (0_usize, 0);
    while let Some((bank, depth)) = banks.pop() {
        let names = from.list(&bank)?;
        found += names.len();
        for name in names {
            if done.is_multiple_of(STEP) && !go_on(done, found) {
                return Ok(copied);
            }
            done += 1;
            let Some(value) = from.fetch(&bank, &name)? else {
                if depth < DEPTH_MAX {
                    banks.push((format!("{bank}/{name}"), depth + 1));
                }
                continue;
            };
            let mut there = to.fetch(&bank, &name)?;
            let outcome = match &there {
                Some(known) if *known == value => Outcome::Known,
                Some(_) => Outcome::Different,
                None if is_dry => Outcome::Copied,
                None => {
                    to.store(&bank, &name, &value)?;
                    there = to.fetch(&bank, &name)?;
                    match there.as_ref() == Some(&value) {
                        true => Outcome::Copied,
                        false => Outcome::Different,
                    }
                }
            };
            let entry = Entry {
                name: &format!("{bank}/{name}"),
                here: &value,
                there: there.as_ref(),
            };
            copied.count(entry, outcome)?;
        }
    }
    Ok(copied)
}
