//! A new job: its id and its load, in one request where the backend can do both at
//! once.

use halite_proto::{Jid, Map, MinionId};

use super::Jobs;
use crate::backend::Backend;
use crate::error::StoreError;
use crate::packing::without_secrets;
use crate::waiting::Write;

/// A job that has its id.
#[derive(Debug)]
pub struct Begun {
    /// Its id, which nobody else has.
    pub jid: Jid,
    /// Whether what is published is stored, or waits to be.
    pub stored: Result<(), StoreError>,
}

impl Jobs {
    /// Takes a new job id, as [`Self::allocate`] does, and stores the result of `load`,
    /// as [`Self::save_load`] does. On a database or a single Redis both become visible
    /// at once.
    ///
    /// # Errors
    /// When there is no id: the store cannot be written, or too many ids are taken.
    pub fn begin(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
        load: impl Fn(&Jid) -> Map,
        minions: &[MinionId],
    ) -> Result<Begun, StoreError> {
        let load = |jid: &Jid| without_secrets(&load(jid));
        let mut tried = None;
        let mut try_next = || tried.insert(next()).clone();
        // What is published waits behind what waits.
        let waits = self.waiting.as_ref().is_some_and(|it| !it.is_idle());
        let begun: Option<Result<Jid, StoreError>> = match &*self.backend {
            _ if waits => None,
            #[cfg(feature = "mysql")]
            Backend::Mysql(it) => Some(it.jobs.begin(nocache, &mut try_next, &load, minions)),
            #[cfg(feature = "postgres")]
            Backend::Postgres(it) => Some(it.jobs.begin(nocache, &mut try_next, &load, minions)),
            #[cfg(feature = "redis")]
            Backend::Redis(it) => it.jobs.begin(nocache, &mut try_next, &load, minions),
            _ => None,
        };
        let jid = match (begun, &self.waiting) {
            (Some(Ok(jid)), _) => {
                let stored = Ok(());
                return Ok(Begun { jid, stored });
            }
            (Some(Err(error)), Some(waiting)) if error.is_of_server() => {
                // It may have been done: the same id does no harm twice.
                let jid = tried.unwrap_or_else(&mut next);
                let write = || Write::Prepare {
                    jid: jid.clone(),
                    nocache,
                };
                waiting.write(write, || Err(error))?;
                jid
            }
            (Some(Err(error)), None) if error.is_of_server() => return Err(error),
            // The id may be there without what cannot be stored.
            (Some(Err(_)) | None, _) => self.allocate(nocache, next)?,
        };
        let stored = self.save_load(&jid, &load(&jid), Some(minions));
        Ok(Begun { jid, stored })
    }
}
