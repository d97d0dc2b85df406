//! Returns that a minion stores on the server by itself.

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};

use super::Jobs;
use crate::backend::on;
use crate::error::StoreError;
use crate::kept::Saved;

impl Jobs {
    /// Lets a return wait that its minion tries to store on the server once: only while
    /// the server is away or other writes wait for it. [`Saved::NoCache`]: it is left to
    /// the minion.
    ///
    /// # Errors
    /// When the server is away and the return cannot wait.
    pub fn save_return_while_away(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        let Some(waiting) = &self.waiting else {
            return Ok(Saved::NoCache);
        };
        waiting.save_return(jid, id, ret, || {
            let answered: Result<bool, StoreError> = on!(self.backend, jobs.has_load(jid));
            answered.map(|_| Saved::NoCache)
        })
    }
}
