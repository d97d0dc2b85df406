//! `cache.migrate` and `jobs.migrate`: copy data to another place.
//!
//! Invariants: nothing is removed or overwritten except data that minions send
//! again, and copied data is read back; an interrupted run can be started again.
//! Logged-in users and minions can name only places of the configuration, because a
//! URL names files that the master reads and the server to which their contents go.

use std::time::Duration;

use halite_key::{KeyState, KeyStore};
use halite_proto::{Map, Value};
use halite_store::migrate::{
    Copied, Entry, JobsCopied, JobsCopy, Outcome, STEP, copy_bank, copy_data, copy_jobs,
    copy_tokens,
};
use halite_store::{BackendOptions, Bank, PlaceError, Store, StoreOptions};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "cache.migrate",
        "(src_driver='localfs', dst_driver=None, bank=None, cachedir=None, dry_run=False)",
        migrate_cache,
        "Copies grains, pillar and mine of minions, tokens and keys of minions, or a bank, from one \
         place to another: localfs, redis, mysql, etcd, or a URL.",
    ),
    Function::new(
        "jobs.migrate",
        "(src, dst, dry_run=False)",
        migrate_jobs,
        "Copies jobs and their returns from one place to another: local_cache, redis, pgjsonb, \
         postgres, mysql, or a URL.",
    ),
];

/// Banks of the master that are copied if no other is named.
const BANKS: [&str; 5] = ["grains", "pillar", "mine", "tokens", "keys"];

/// Banks that only the master's own user may copy.
const SECRET_BANKS: [&str; 3] = ["pillar", "tokens", "keys"];

impl From<PlaceError> for RunnerError {
    fn from(error: PlaceError) -> Self {
        Self::Failed(format!("{}: {}", error.option, error.why))
    }
}

fn migrate_jobs(call: &Call<'_>) -> Ran {
    let general = &call.runners.general;
    let place = |name: &str| {
        let text = call.text(name).unwrap_or_default();
        refuse_url(call, text)?;
        let (opts, cachedir) = (&general.opts, &general.cachedir);
        Ok::<_, RunnerError>(halite_store::job_place(
            text,
            opts,
            cachedir,
            general.hash_type,
        )?)
    };
    let (src, dst) = (place("src")?, place("dst")?);
    refuse_same(&src, &dst)?;
    let is_dry = call.flag("dry_run");
    let (from, to) = (open(&src), open(&dst));
    let mut stopped = Ok(());
    let copied = copy_jobs(&from.jobs, &to.jobs, JobsCopy::new(is_dry), |done, all| {
        stopped = call.wait(Duration::ZERO);
        call.print(format!("{done} of {all} jobs"));
        stopped.is_ok()
    })?;
    stopped?;
    told_jobs(&copied, is_dry)
}

fn told_jobs(copied: &JobsCopied, is_dry: bool) -> Ran {
    if !is_dry && copied.hash != copied.hash_there {
        let jids: Vec<&str> = copied.different.iter().map(|jid| jid.as_str()).collect();
        let why = copied.reason.as_ref();
        let why = why.map_or_else(String::new, |why| format!(" (the first: {why})"));
        return Err(RunnerError::Failed(format!(
            "compared {} jobs, and these differ at the destination: {}{}",
            copied.jobs,
            jids.join(", "),
            why
        )));
    }
    Ok(Map::from([
        ("jobs", number(copied.jobs)),
        ("returns", number(copied.returns)),
        ("copied", number(copied.copied)),
        ("known", number(copied.known)),
        ("hash", copied.hash.as_str().into()),
        ("hash_there", copied.hash_there.as_str().into()),
    ])
    .into())
}

fn migrate_cache(call: &Call<'_>) -> Ran {
    if call.text("cachedir").is_some() {
        return Err(RunnerError::Failed(
            "cachedir: only the master's own cache directory is supported".to_owned(),
        ));
    }
    let general = &call.runners.general;
    let place = |name: &str| {
        refuse_url(call, name)?;
        let (opts, cachedir) = (&general.opts, &general.cachedir);
        Ok::<_, RunnerError>(halite_store::cache_place(
            name,
            opts,
            cachedir,
            general.hash_type,
        )?)
    };
    let src = place(call.text("src_driver").unwrap_or("localfs"))?;
    let dst = match call.text("dst_driver") {
        Some(name) => place(name)?,
        None => call.runners.jobs.health.data_place().clone(),
    };
    refuse_same(&src, &dst)?;
    let is_dry = call.flag("dry_run");
    let banks = match call.text("bank") {
        Some(bank) => vec![bank],
        None => BANKS.to_vec(),
    };
    refuse_secrets(call, &banks)?;
    let mut told = Map::new();
    let mut different = Vec::new();
    for bank in banks {
        call.wait(Duration::ZERO)?;
        let copied = migrate_bank(call, (&src, &dst), bank, is_dry)?;
        let text = format!(
            "{bank}: {} seen, {} copied, {} known",
            copied.seen, copied.copied, copied.known
        );
        call.print(text);
        let names = copied.different.iter();
        different.extend(names.map(|name| format!("{bank}: {name}")));
        told.insert(
            bank,
            Map::from([
                ("seen", number(copied.seen)),
                ("copied", number(copied.copied)),
                ("known", number(copied.known)),
                ("hash", copied.hashes.here.as_str().into()),
                ("hash_there", copied.hashes.there.as_str().into()),
            ]),
        );
    }
    match different.is_empty() {
        true => Ok(told.into()),
        false => Err(RunnerError::Failed(format!(
            "these entries differ at the destination and were left unchanged: {}",
            different.join(", ")
        ))),
    }
}

fn migrate_bank(
    call: &Call<'_>,
    (src, dst): (&BackendOptions, &BackendOptions),
    bank: &str,
    is_dry: bool,
) -> Result<Copied, RunnerError> {
    let (from, to) = (open(src), open(dst));
    let mut stopped = Ok(());
    let go_on = |done: usize, all: usize| {
        stopped = call.wait(Duration::ZERO);
        if done > 0 {
            call.print(format!("{bank}: {done} of {all}"));
        }
        stopped.is_ok()
    };
    let copied = match bank {
        "grains" => copy_data(&from.data, &to.data, Bank::Grains, is_dry, go_on)?,
        "pillar" => copy_data(&from.data, &to.data, Bank::Pillar, is_dry, go_on)?,
        "mine" => copy_data(&from.data, &to.data, Bank::Mine, is_dry, go_on)?,
        "tokens" => copy_tokens(&from.tokens, &to.tokens, is_dry, go_on)?,
        "keys" => {
            let pki_dir = &call.runners.general.pki_dir;
            let from = KeyStore::open_existing_at(pki_dir, Some(src))?;
            let to = KeyStore::open_existing_at(pki_dir, Some(dst))?;
            copy_keys(&from, &to, is_dry, go_on)?
        }
        bank => copy_bank(&from.banks, &to.banks, bank, is_dry, go_on)?,
    };
    stopped?;
    Ok(copied)
}

/// Copies keys with their states. An id that has a key there keeps it, and its
/// state: somebody may have decided about it.
fn copy_keys(
    from: &KeyStore,
    to: &KeyStore,
    is_dry: bool,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Copied, RunnerError> {
    let mut copied = Copied::default();
    let mut ids = Vec::new();
    for state in KeyState::ALL {
        ids.extend(from.list(state)?.into_iter().map(|id| (state, id)));
    }
    for (number, (state, id)) in ids.iter().enumerate() {
        if number.is_multiple_of(STEP) && !go_on(number, ids.len()) {
            break;
        }
        let Some(pem) = from.get(*state, id)? else {
            continue;
        };
        let look = || {
            Ok::<_, RunnerError>(match state {
                KeyState::Denied => to.get(*state, id)?.map(|pem| (*state, pem)),
                _ => to.lookup(id)?.map(|key| (key.state, key.pem)),
            })
        };
        let is_same = |there: &Option<(KeyState, String)>| {
            let there = there.as_ref();
            there.is_some_and(|(is, known)| is == state && known.trim() == pem.trim())
        };
        let mut there = look()?;
        let outcome = match &there {
            known if is_same(known) => Outcome::Known,
            Some(_) => Outcome::Different,
            None if is_dry => Outcome::Copied,
            None => {
                to.put(id, *state, &pem)?;
                there = look()?;
                match is_same(&there) {
                    true => Outcome::Copied,
                    false => Outcome::Different,
                }
            }
        };
        let said = |state: KeyState, pem: &str| {
            Value::List(vec![id.into(), state.word().into(), pem.trim().into()])
        };
        let there = there.map(|(state, pem)| said(state, &pem));
        let entry = Entry {
            name: &format!("{id} ({state})"),
            here: &said(*state, &pem),
            there: there.as_ref(),
        };
        copied.count(entry, outcome)?;
    }
    Ok(copied)
}

fn refuse_url(call: &Call<'_>, place: &str) -> Result<(), RunnerError> {
    match call.is_owner || !halite_store::is_url(place) {
        true => Ok(()),
        false => Err(RunnerError::Failed(
            "only the master's own user may name a URL, by salt-run on its machine; name a store \
             that the configuration describes"
                .to_owned(),
        )),
    }
}

fn refuse_secrets(call: &Call<'_>, banks: &[&str]) -> Result<(), RunnerError> {
    let secret: Vec<&str> = SECRET_BANKS
        .into_iter()
        .filter(|bank| banks.contains(bank))
        .collect();
    match call.is_owner || secret.is_empty() {
        true => Ok(()),
        false => Err(RunnerError::Failed(format!(
            "only the master's own user may copy {}, by salt-run on its machine; name another bank",
            secret.join(", ")
        ))),
    }
}

fn refuse_same(src: &BackendOptions, dst: &BackendOptions) -> Result<(), RunnerError> {
    match src == dst {
        true => Err(RunnerError::Failed(
            "source and destination are the same".to_owned(),
        )),
        false => Ok(()),
    }
}

fn open(place: &BackendOptions) -> Store {
    halite_store::open(&StoreOptions::all(place.clone()))
}

fn number(number: usize) -> Value {
    u64::try_from(number).unwrap_or(u64::MAX).into()
}
