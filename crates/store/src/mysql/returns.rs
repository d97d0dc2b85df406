//! Storing returns.

use std::collections::{HashMap, HashSet};

use halite_crypto::random_bytes;
use halite_proto::msgpack::unpack_modern;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId, Value};
use halite_store_servers::{Failure, MysqlConnection, MysqlValue};

use super::jobs::{Jobs, now_micros};
use super::marks;
use crate::error::StoreError;
use crate::kept::Saved;
use crate::return_queue::{Entry, Outcome};

/// A job and a minion.
type Pair = (String, String);

impl Jobs {
    pub(crate) fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        let entry = Entry::new(jid, id, ret)?;
        let outcome = self.returns.save(entry.clone(), |entries| {
            self.run(async move |mysql| {
                mysql
                    .together(async |mysql| save(mysql, &entries).await)
                    .await
            })
        })?;
        Ok(match outcome {
            Outcome::NoCache => Saved::NoCache,
            Outcome::New => Saved::Stored,
            Outcome::Known | Outcome::Failed => Saved::Duplicate {
                differs: self.differs(jid, id, &entry)?,
            },
        })
    }

    /// Whether a return differs from the stored one.
    fn differs(&self, jid: &Jid, id: &MinionId, entry: &Entry) -> Result<bool, StoreError> {
        let ours = entry.packed.clone();
        let arguments = vec![ours.into(), jid.as_str().into(), id.as_str().into()];
        let is_same: Option<(bool,)> = self.run(async move |mysql| {
            let ask = "select packed = ? from halite_returns where jid = ? and id = ?";
            mysql.row(ask, arguments).await
        })?;
        if let Some((is_same,)) = is_same {
            return Ok(!is_same);
        }
        // A Python master has stored it, as JSON.
        let ours = match unpack_modern(&entry.packed) {
            Ok(Value::Map(map)) => map.get("return").cloned(),
            _ => None,
        };
        let theirs = self.return_of(jid, id)?;
        Ok(theirs.map(|theirs| theirs.ret().clone()) != ours)
    }
}

async fn save(
    mysql: &mut MysqlConnection,
    entries: &[Entry],
) -> Result<Vec<(u64, Outcome)>, Failure> {
    let known = known_jobs(mysql, entries).await?;
    let is_kept = |entry: &&Entry| known.get(&entry.jid) != Some(&Known::NoCache);
    let kept: Vec<&Entry> = entries.iter().filter(is_kept).collect();
    make_known(mysql, &kept, &known).await?;
    let salts = stored_by_salt(mysql, &kept).await?;
    let is_new = |entry: &&&Entry| !salts.contains(&(entry.jid.clone(), entry.id.clone()));
    let fresh: Vec<&Entry> = kept.iter().filter(is_new).copied().collect();
    let new = add(mysql, &fresh).await?;
    add_for_salt(
        mysql,
        fresh.iter().filter(|entry| is_among(&new, entry)).copied(),
    )
    .await?;
    let outcome = |entry: &Entry| match (is_kept(&entry), is_among(&new, entry)) {
        (false, _) => Outcome::NoCache,
        (true, true) => Outcome::New,
        (true, false) => Outcome::Known,
    };
    Ok(entries
        .iter()
        .map(|entry| (entry.ticket, outcome(entry)))
        .collect())
}

fn is_among(pairs: &HashSet<Pair>, entry: &Entry) -> bool {
    pairs.contains(&(entry.jid.clone(), entry.id.clone()))
}

/// The state of a job in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Its load.
    Load,
    /// Its returns are not stored.
    NoCache,
}

async fn known_jobs(
    mysql: &mut MysqlConnection,
    entries: &[Entry],
) -> Result<HashMap<String, Known>, Failure> {
    let jids: HashSet<&str> = entries.iter().map(|entry| entry.jid.as_str()).collect();
    let list = vec!["?"; jids.len()].join(", ");
    let arguments = || jids.iter().map(|jid| MysqlValue::from(*jid)).collect();
    let ask = format!("select jid from jids where jid in ({list})");
    let salts: Vec<String> = mysql.rows(ask, arguments()).await?;
    let mut known: HashMap<String, Known> =
        salts.into_iter().map(|jid| (jid, Known::Load)).collect();
    let ask =
        format!("select jid, nocache, `load` is not null from halite_jobs where jid in ({list})");
    let ours: Vec<(String, bool, bool)> = mysql.rows(ask, arguments()).await?;
    for (jid, nocache, has_load) in ours {
        match (nocache, has_load) {
            (true, _) => drop(known.insert(jid, Known::NoCache)),
            (false, true) => drop(known.insert(jid, Known::Load)),
            (false, false) => {}
        }
    }
    Ok(known)
}

/// Makes jobs known that are known by nothing else than their returns.
async fn make_known(
    mysql: &mut MysqlConnection,
    kept: &[&Entry],
    known: &HashMap<String, Known>,
) -> Result<(), Failure> {
    let mut made: HashSet<&str> = HashSet::new();
    for entry in kept {
        if known.contains_key(&entry.jid) || !made.insert(&entry.jid) {
            continue;
        }
        let save = "insert into halite_jobs (jid, prepared, `load`, from_returns) \
                    values (?, ?, ?, true) on duplicate key update \
                    from_returns = `load` is null or from_returns, \
                    `load` = coalesce(`load`, values(`load`))";
        let jid = entry.jid.as_str();
        let ours = vec![jid.into(), now_micros().into(), entry.load.clone().into()];
        mysql.execute(save, ours).await?;
        let salts = vec![jid.into(), entry.salts_load.as_str().into()];
        let save = "insert ignore into jids (jid, `load`) values (?, ?)";
        mysql.execute(save, salts).await?;
    }
    Ok(())
}

/// The returns that a Python master has stored, or we before.
async fn stored_by_salt(
    mysql: &mut MysqlConnection,
    kept: &[&Entry],
) -> Result<HashSet<Pair>, Failure> {
    if kept.is_empty() {
        return Ok(HashSet::new());
    }
    let marks = marks(kept.len(), 2);
    let ask = format!("select jid, id from salt_returns where (jid, id) in ({marks})");
    let found: Vec<Pair> = mysql.rows(ask, pairs(kept)).await?;
    Ok(found.into_iter().collect())
}

/// Stores returns, and gives those that were not there.
async fn add(mysql: &mut MysqlConnection, fresh: &[&Entry]) -> Result<HashSet<Pair>, Failure> {
    if fresh.is_empty() {
        return Ok(HashSet::new());
    }
    // Says which rows are from this statement.
    let writer = u64::from_ne_bytes(random_bytes::<8>());
    let rows = marks(fresh.len(), 5);
    let add =
        format!("insert ignore into halite_returns (jid, id, packed, `out`, writer) values {rows}");
    let values = fresh.iter().flat_map(|entry| {
        [
            entry.jid.as_str().into(),
            entry.id.as_str().into(),
            entry.packed.clone().into(),
            entry.out.clone().into(),
            writer.into(),
        ]
    });
    mysql.execute(add, values.collect()).await?;
    let rows = marks(fresh.len(), 2);
    let ask =
        format!("select jid, id from halite_returns where (jid, id) in ({rows}) and writer = ?");
    let mut arguments = pairs(fresh);
    arguments.push(writer.into());
    let new: Vec<Pair> = mysql.rows(ask, arguments).await?;
    Ok(new.into_iter().collect())
}

async fn add_for_salt<'e>(
    mysql: &mut MysqlConnection,
    new: impl Iterator<Item = &'e Entry>,
) -> Result<(), Failure> {
    let values: Vec<MysqlValue> = new
        .flat_map(|entry| {
            [
                entry.fun.as_str().into(),
                entry.jid.as_str().into(),
                entry.ret.as_str().into(),
                entry.id.as_str().into(),
                entry.success.into(),
                entry.full_ret.as_str().into(),
            ]
        })
        .collect();
    if values.is_empty() {
        return Ok(());
    }
    let rows = marks(values.len() / 6, 6);
    let add = format!(
        "insert into salt_returns (fun, jid, `return`, id, success, full_ret) values {rows}"
    );
    mysql.execute(add, values).await.map(drop)
}

fn pairs(entries: &[&Entry]) -> Vec<MysqlValue> {
    let pair = |entry: &&Entry| [entry.jid.as_str().into(), entry.id.as_str().into()];
    entries.iter().flat_map(pair).collect()
}
