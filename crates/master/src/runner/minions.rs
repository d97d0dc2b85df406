//! `minions.*`: what this master knows of each minion, without asking it.

use std::collections::{HashMap, HashSet};

use halite_key::master_id;
use halite_proto::clear::Connection;
use halite_proto::time::stamp;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{Bank, JobFilter, StoredReturn};

use super::Call;
use super::error::{Ran, RunnerError};
use super::job_source::Source;
use super::table::Function;
use crate::core::highstates::{self, Highstate, Outcome};
use crate::core::history::{Change, Entry};
use crate::limits::{HIGHSTATES_LOOKED_AT_MAX, HISTORY_SHOWN_MAX, SINGLE_RETURNS_MAX};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "minions.history",
        "(tgt='*', tgt_type='glob', count=50)",
        history,
        "The history of minions' connections since this master started: when they connected and\n\
         disconnected, at which master of a cluster, when they signed in, and why they were\n\
         refused. With `tgt_type=list` also for names whose keys are not accepted.\n\n\
         The newest `count` changes that each minion has proven, as many that other masters\n\
         report, and as many sign-ins and refusals, the oldest first; fewer in large fleets.\n\
         `unreachable` is a minion whose master this one cannot reach.\n\
         Only Halite minions show when they connect and disconnect.",
    ),
    Function::new(
        "minions.status",
        "(tgt='*', tgt_type='glob', highstates=True)",
        status,
        "What the master knows of minions without asking them: the master they are connected\n\
         to and since when, their version and system, and their last highstate.\n\n\
         For a minion that has returned none since this master started, the newest 20\n\
         highstates of the job cache are searched.",
    ),
];

/// The history of minions' connections.
fn history(call: &Call<'_>) -> Ran {
    let attendance = &call.runners.fleet.attendance;
    let own = master_id(&call.runners.general.id);
    let mut ids = call.targets()?;
    if call.text("tgt_type") == Some("list") {
        ids.extend(listed(call.arg("tgt")));
        ids.sort_unstable();
        ids.dedup();
    }
    let wanted = call.arg("count").as_i64().unwrap_or_default();
    let wanted = usize::try_from(wanted).unwrap_or_default();
    // So many of each kind that there is room for all minions.
    let count = wanted.min(HISTORY_SHOWN_MAX / ids.len().max(1)).max(1);
    let histories = ids.into_iter().map(|id| {
        let history = attendance.history_of(&id, count);
        (id, history)
    });
    let known = histories.filter(|(_, all)| !all.is_empty());
    let mut minions = Map::new();
    for (id, history) in known {
        let shown = history.iter().map(|entry| row(entry, own));
        minions.insert(&id, Value::List(shown.collect()));
    }
    Ok(Map::from([
        ("master", Value::from(own)),
        ("since", stamp(attendance.started_micros, true).into()),
        ("minions", minions.into()),
    ])
    .into())
}

/// The names of a list that may be minions'.
fn listed(tgt: &Value) -> Vec<MinionId> {
    let parse = |name: &str| MinionId::parse(name.trim()).ok();
    match tgt {
        Value::List(names) => {
            let names = names.iter().filter_map(Value::as_str);
            names.filter_map(parse).collect()
        }
        Value::Str(names) => names.split(',').filter_map(parse).collect(),
        _ => Vec::new(),
    }
}

/// The row of a change; `own` is the name of this master.
fn row(entry: &Entry, own: &str) -> Value {
    let master = entry.master.as_deref().unwrap_or(own);
    let mut row = Map::from([
        ("at", Value::from(stamp(entry.first_micros, true))),
        ("change", entry.change.name().into()),
        ("master", master.into()),
    ]);
    if let Change::Refused(why) = entry.change {
        row.insert("why", why);
    }
    if entry.times > 1 {
        row.insert("until", stamp(entry.last_micros, true));
        row.insert("times", i64::from(entry.times));
    }
    row.into()
}

/// The grains that are shown, under what names.
const SHOWN_GRAINS: [(&str, &str); 3] = [
    ("version", "saltversion"),
    ("system", "osfinger"),
    ("addresses", "ipv4"),
];

fn status(call: &Call<'_>) -> Ran {
    let ids = call.targets()?;
    let mut highstates = match call.flag("highstates") {
        true => last_highstates(call, &ids)?,
        false => HashMap::new(),
    };
    let fleet = &call.runners.fleet;
    let mut addresses = None;
    let mut rows = Map::new();
    for id in &ids {
        let connection = fleet.connection(id, &mut addresses);
        let mut row = connection_row(connection);
        insert_masters(&mut row, call, id, connection);
        let distrusts = fleet.attendance.distrusted_by(id);
        row.insert(
            "trusts_another_since",
            distrusts.map(|micros| stamp(micros, true)),
        );
        let clones = fleet.clones_of(id);
        let clones = clones.iter().map(|origin| origin.to_string().into());
        row.insert("clones", Value::List(clones.collect()));
        let grains = fleet.data.get(Bank::Grains, id)?.unwrap_or_default();
        for (name, grain) in SHOWN_GRAINS {
            row.insert(name, grains.get(grain).cloned().unwrap_or_default());
        }
        row.insert("highstate", highstates.remove(id.as_str()).map(Value::from));
        rows.insert(id, row);
    }
    Ok(rows.into())
}

/// Whether a minion is connected; nil where it is not known.
fn connection_row(connection: Connection) -> Map {
    let (connected, is_proven, since) = match connection {
        Connection::Here(since) => (Some(true), true, Some(since)),
        Connection::Away(since) => (Some(false), true, Some(since)),
        Connection::Absent => (Some(false), true, None),
        Connection::PerhapsHere => (Some(true), false, None),
        Connection::PerhapsAway => (Some(false), false, None),
        Connection::Unknown => (None, false, None),
    };
    Map::from([
        ("connected", Value::from(connected)),
        ("proven", is_proven.into()),
        ("since", since.map(|micros| stamp(micros, true)).into()),
    ])
}

/// The masters of the cluster that a minion is connected to: all of them, and as `master`
/// this one if it is among them, otherwise the one that it connected to last.
fn insert_masters(row: &mut Map, call: &Call<'_>, id: &MinionId, connection: Connection) {
    let attendance = &call.runners.fleet.attendance;
    let own = master_id(&call.runners.general.id);
    let mut masters = attendance.masters_of(id, own);
    let is_here = matches!(connection, Connection::Here(_) | Connection::PerhapsHere);
    if masters.is_empty() && is_here {
        // Known by its address, as minions of Salt are.
        masters.push(own.to_owned());
    }
    let elsewhere = attendance.master_of(id);
    row.insert(
        "master",
        elsewhere.or_else(|| is_here.then(|| own.to_owned())),
    );
    let masters = masters.into_iter().map(Value::from);
    row.insert("masters", Value::List(masters.collect()));
}

/// The last highstate of each of these minions: that which this master remembers, or a
/// newer one among the newest of the job cache.
fn last_highstates(call: &Call<'_>, ids: &[MinionId]) -> Result<HashMap<String, Map>, RunnerError> {
    let source = Source::of(call)?;
    let filter = JobFilter {
        functions: highstates::FUNCTIONS.map(str::to_owned).into(),
        ..JobFilter::default()
    };
    let newest = source.newest(HIGHSTATES_LOOKED_AT_MAX, &filter, |jid, load| {
        let fun = load.get("fun").and_then(Value::as_str);
        let is_one = highstates::is_highstate(fun.unwrap_or_default(), arguments(&load));
        is_one.then_some((jid, load))
    })?;
    let mut found = remembered(call, ids);
    let mut older: HashSet<&MinionId> = ids.iter().collect();
    for (jid, load) in newest {
        let is_newer = |id: &MinionId| found.get(id).is_none_or(|known| known.jid < jid);
        older.retain(|id| is_newer(id));
        if older.is_empty() {
            break;
        }
        for (id, stored) in returns_of(&source, &jid, &older)? {
            let said = stored.data.get("success").and_then(Value::as_bool);
            let highstate = Highstate {
                jid: jid.clone(),
                is_test: highstates::is_test(arguments(&load)),
                outcome: Outcome::of(Some(stored.ret()), said),
            };
            found.insert(id, highstate);
        }
    }
    let rows = found.iter();
    Ok(rows
        .map(|(id, last)| (id.to_string(), highstate_row(last)))
        .collect())
}

/// What this master remembers of the last highstates.
fn remembered(call: &Call<'_>, ids: &[MinionId]) -> HashMap<MinionId, Highstate> {
    let last = call.runners.fleet.highstates.lock();
    let known = |id: &MinionId| Some((id.clone(), last.newest(id)?.clone()));
    ids.iter().filter_map(known).collect()
}

/// What these minions returned of a job. A job of a large fleet has many returns:
/// those of few minions are read one by one.
fn returns_of(
    source: &Source<'_>,
    jid: &Jid,
    ids: &HashSet<&MinionId>,
) -> Result<Vec<(MinionId, StoredReturn)>, RunnerError> {
    let mut found = Vec::new();
    if ids.len() <= SINGLE_RETURNS_MAX {
        for id in ids {
            let stored = source.return_of(jid, id)?;
            found.extend(stored.map(|stored| ((*id).clone(), stored)));
        }
        return Ok(found);
    }
    let ids: HashMap<&str, &MinionId> = ids.iter().map(|id| (id.as_str(), *id)).collect();
    for (id, stored) in source.returns(jid)? {
        let wanted = ids.get(id.as_str()).map(|id| (*id).clone());
        found.extend(wanted.map(|id| (id, stored)));
    }
    Ok(found)
}

fn arguments(load: &Map) -> &[Value] {
    let list = load.get("arg").and_then(Value::as_list);
    list.unwrap_or_default()
}

/// How many states succeeded, changed something and failed, and in which job.
fn highstate_row(last: &Highstate) -> Map {
    let outcome = last.outcome;
    Map::from([
        ("ok", Value::from(outcome.is_ok)),
        ("succeeded", i64::from(outcome.succeeded).into()),
        ("changed", i64::from(outcome.changed).into()),
        ("failed", i64::from(outcome.failed).into()),
        ("jid", (&last.jid).into()),
        ("test", last.is_test.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guessed_is_not_called_proven() {
        let row = connection_row(Connection::PerhapsHere);
        assert_eq!(row.get("connected"), Some(&Value::from(true)));
        assert_eq!(row.get("proven"), Some(&Value::from(false)));
        let row = connection_row(Connection::Away(1_795_000_000_000_000));
        assert_eq!(row.get("connected"), Some(&Value::from(false)));
        assert_eq!(
            row.get("since"),
            Some(&Value::from("2026-11-18T11:06:40+00:00"))
        );
        let row = connection_row(Connection::Unknown);
        assert_eq!(row.get("connected"), Some(&Value::Nil));
    }
}
