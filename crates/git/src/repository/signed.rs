//! Leaves out unsigned references, if `verify_signatures` names keys.
//!
//! Invariant: signatures were checked with the current keys, and a tag under the
//! name with which it is served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Repository;
use crate::GitError;
use crate::limits::REFUSED_FOR;
use crate::objects::{Id, Objects};
use crate::promotion::Promotions;
use crate::signatures::{Signers, judged_for};
use crate::snapshot::{Checked, Refs};
use crate::watch::Watch;

impl Repository {
    /// Where signatures count, leaves out what is not signed; what is to be said
    /// about each.
    pub(super) fn only_signed(
        &self,
        refs: &mut Refs,
        before: Option<&Refs>,
        promotions: &Promotions,
        watch: &Arc<Watch>,
    ) -> Result<Vec<String>, GitError> {
        if self.remote.verify_signatures.is_empty() {
            return Ok(Vec::new());
        }
        let signers = Signers::read(&self.remote.verify_signatures)?;
        let mark = signers.mark();
        let before = before.filter(|before| before.signers() == Some(mark.as_str()));
        let objects = Objects::open_locked(&self.places.git_dir)?;
        let judged: BTreeMap<String, Id> = refs
            .names()
            .map(|(name, id)| judged_for(&objects, &name, id).map(|judged| (name, judged)))
            .collect::<Result<_, GitError>>()?;
        // After the cache was cleared one of them may not be here.
        let held = promotions.ids().filter(|id| objects.expect(*id).is_ok());
        let held: BTreeSet<Id> = held.collect();
        let wanted: BTreeSet<Id> = judged.values().chain(&held).copied().collect();
        let now_s = refs.fetched_s();
        let mut signed = signed_before(before, &objects);
        let mut refused = refused_before(before, now_s);
        let is_new = |id: &&Id| !signed.contains(id) && !refused.contains_key(id);
        let new: BTreeSet<Id> = wanted.iter().filter(is_new).copied().collect();
        if !new.is_empty() {
            let keyring = signers.keyring(&self.places.run.join("keyring"), watch)?;
            let good = keyring.signed(&self.places.git_dir, &new, watch)?;
            refused.extend(new.difference(&good).map(|id| (*id, now_s)));
            signed.extend(good);
        }
        refused.retain(|id, _| wanted.contains(id) && !signed.contains(id));
        let signed_refs = judged.iter().filter(|(_, id)| signed.contains(id));
        let signed_refs: BTreeSet<String> = signed_refs.map(|(name, _)| name.clone()).collect();
        let said = refs.only_signed(&signed_refs, before);
        // One that a signed tag names or named is not signed itself.
        let names = |refs: &Refs, id: Id| {
            let mut ids = refs.ids();
            ids.any(|named| matches!(objects.commit(named), Ok(Some((commit, _))) if commit == id))
        };
        let counted = |id: Id| {
            let known = before.and_then(Refs::checked);
            known.is_some_and(|known| known.held.contains(&id))
                || before.is_some_and(|before| names(before, id))
        };
        let is_good = |id: &Id| signed.contains(id) || counted(*id) || names(refs, *id);
        let held = held.into_iter().filter(is_good).collect();
        refs.set_checked(Checked {
            signers: mark,
            held,
            refused,
        });
        Ok(said)
    }
}

/// What was judged before, with the same keys, and is signed.
fn signed_before(before: Option<&Refs>, objects: &Objects) -> BTreeSet<Id> {
    let names = before.into_iter().flat_map(Refs::names);
    // What is here no more counts no more.
    let judged = names.filter_map(|(name, id)| judged_for(objects, &name, id).ok());
    judged.collect()
}

/// What was judged before, with the same keys, and is not signed.
fn refused_before(before: Option<&Refs>, now_s: u64) -> BTreeMap<Id, u64> {
    let checked = before.and_then(Refs::checked);
    let refused = checked.into_iter().flat_map(|checked| &checked.refused);
    let is_young = |since_s: u64| now_s.saturating_sub(since_s) < REFUSED_FOR.as_secs();
    let young = refused.filter(|(_, since_s)| is_young(**since_s));
    young.map(|(id, since_s)| (*id, *since_s)).collect()
}
