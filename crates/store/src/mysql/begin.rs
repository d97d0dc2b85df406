//! A job's id and its load, in one transaction.

use halite_proto::{Jid, Map, MinionId};
use halite_store_servers::{Failure, MysqlConnection, MysqlValue};

use super::jobs::{Jobs, add_minions, names, now_micros};
use crate::error::StoreError;
use crate::limits::JID_TRIES_MAX;
use crate::packing::pack_load;
use crate::salt_json;

/// `ignore` makes a value fit as well, and this load is never too long for its column.
const TAKE: &str = "
insert ignore into halite_jobs (jid, prepared, nocache, `load`) values (?, ?, ?, ?)";

/// Salt's load may be too long for its column: it comes after, without `ignore`.
const TAKE_FROM_SALT: &str = "insert ignore into jids (jid, `load`) values (?, '')";

const SAVE_SALTS_LOAD: &str = "update jids set `load` = ? where jid = ?";

const GIVE_BACK: &str = "delete from halite_jobs where jid = ?";

impl Jobs {
    /// Takes an id that neither Halite nor Salt has used, and stores its load.
    pub(crate) fn begin(
        &self,
        nocache: bool,
        next: &mut dyn FnMut() -> Jid,
        load: &dyn Fn(&Jid) -> Map,
        minions: &[MinionId],
    ) -> Result<Jid, StoreError> {
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            let load = load(&jid);
            let ours = vec![
                jid.as_str().into(),
                now_micros().into(),
                nocache.into(),
                pack_load(&jid, &load)?.into(),
            ];
            let salts = salt_json::write(&jid, &load.into())?.into();
            let (text, minions) = (jid.to_string(), names(minions));
            let is_taken = self.run(async move |mysql| {
                mysql
                    .together(async |mysql| begin_as(mysql, &text, ours, salts, &minions).await)
                    .await
            })?;
            if is_taken {
                return Ok(jid);
            }
        }
        Err(self.taken(JID_TRIES_MAX))
    }
}

/// Tries to take the id; false if it is not free. The tables are locked in the order in
/// which returns lock them, and nothing is read before it is written: a read in a
/// transaction would lock the gap of the next id against others that read too.
async fn begin_as(
    mysql: &mut MysqlConnection,
    jid: &str,
    ours: Vec<MysqlValue>,
    salts: MysqlValue,
    minions: &[String],
) -> Result<bool, Failure> {
    if mysql.execute(TAKE, ours).await? == 0 {
        return Ok(false);
    }
    if mysql.execute(TAKE_FROM_SALT, vec![jid.into()]).await? == 0 {
        mysql.execute(GIVE_BACK, vec![jid.into()]).await?;
        return Ok(false);
    }
    let arguments = vec![salts, jid.into()];
    mysql.execute(SAVE_SALTS_LOAD, arguments).await?;
    add_minions(mysql, jid, minions).await?;
    Ok(true)
}
