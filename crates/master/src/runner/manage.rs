//! `manage.*`: which minions are up.

use std::time::Duration;

use halite_key::KeyState;
use halite_proto::{Map, MinionId, SALT_RELEASE, Value};
use halite_store::Bank;

use super::Call;
use super::error::{Ran, RunnerError};
use super::gather::Command;
use super::table::Function;

const STATUS: &str =
    "(output=True, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)";
const UP: &str = "(tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)";
const LISTED: &str = "(subset=None, show_ip=False)";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "manage.alived",
        LISTED,
        present,
        "The minions with a connection to the master.",
    ),
    Function::new(
        "manage.allowed",
        LISTED,
        present,
        "The minions with a connection to the master.",
    ),
    Function::new(
        "manage.down",
        "(removekeys=False, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
        down,
        "The minions that do not answer; their keys are deleted on demand.",
    ),
    Function::new(
        "manage.joined",
        LISTED,
        present,
        "The minions with a connection to the master.",
    ),
    Function::new(
        "manage.list_not_state",
        LISTED,
        not_present,
        "The minions without a connection to the master.",
    ),
    Function::new(
        "manage.list_state",
        LISTED,
        present,
        "The minions with a connection to the master.",
    ),
    Function::new(
        "manage.not_alived",
        LISTED,
        not_present,
        "The minions without a connection to the master.",
    ),
    Function::new(
        "manage.not_allowed",
        LISTED,
        not_present,
        "The minions without a connection to the master.",
    ),
    Function::new(
        "manage.not_joined",
        LISTED,
        not_present,
        "The minions without a connection to the master.",
    ),
    Function::new(
        "manage.not_present",
        LISTED,
        not_present,
        "The minions without a connection to the master.",
    ),
    Function::new(
        "manage.not_reaped",
        LISTED,
        not_present,
        "The minions without a connection to the master.",
    ),
    Function::new(
        "manage.present",
        LISTED,
        present,
        "The minions with a connection to the master.",
    ),
    Function::new(
        "manage.reaped",
        LISTED,
        present,
        "The minions with a connection to the master.",
    ),
    Function::new(
        "manage.status",
        STATUS,
        status,
        "The minions that answer, and those that do not.",
    ),
    Function::new("manage.up", UP, up, "The minions that answer."),
    Function::new(
        "manage.versions",
        "()",
        versions,
        "The versions of the minions beside the master's.",
    ),
];

/// The minions that answer a ping and those that do not, sorted. Minions without a
/// connection are not waited for.
fn pinged(call: &Call<'_>) -> Result<(Vec<String>, Vec<String>), RunnerError> {
    let tgt = call.arg("tgt").clone();
    let command = Command {
        timeout: call.seconds("timeout", call.timeout),
        gather_job_timeout: call.seconds(
            "gather_job_timeout",
            call.runners.general.gather_job_timeout,
        ),
        away_grace: Duration::ZERO,
        ..Command::new(
            call,
            tgt,
            call.text("tgt_type").unwrap_or("glob"),
            "test.ping",
        )
    };
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for row in call.command(&command)? {
        if row.is_missing {
            down.push(row.id);
        } else {
            up.push(row.id);
        }
    }
    up.sort_unstable();
    down.sort_unstable();
    Ok((up, down))
}

fn list(ids: Vec<String>) -> Value {
    Value::List(ids.into_iter().map(Value::from).collect())
}

fn status(call: &Call<'_>) -> Ran {
    let (up, down) = pinged(call)?;
    Ok(Map::from([("up", list(up)), ("down", list(down))]).into())
}

fn up(call: &Call<'_>) -> Ran {
    Ok(list(pinged(call)?.0))
}

fn down(call: &Call<'_>) -> Ran {
    let (_, down) = pinged(call)?;
    if call.flag("removekeys") {
        for id in down
            .iter()
            .filter_map(|id| MinionId::parse(id.as_str()).ok())
        {
            for change in call.runners.keys.store.delete(&id)? {
                call.runners
                    .keys
                    .fire_key_event("delete", &change.id, &change.pem);
            }
            call.runners.fleet.forget_minion_data(&id);
        }
        if !down.is_empty() {
            call.runners.publishing.cut_access();
        }
    }
    Ok(list(down))
}

/// Whether the argument `subset` leaves an id in.
fn is_in_subset(call: &Call<'_>, id: &str) -> bool {
    match call.arg("subset") {
        Value::List(ids) => ids.iter().any(|wanted| wanted.as_str() == Some(id)),
        Value::Str(ids) if !ids.is_empty() => ids.split(',').any(|wanted| wanted.trim() == id),
        _ => true,
    }
}

fn present(call: &Call<'_>) -> Ran {
    let here = call.runners.fleet.connected();
    let here = here.iter().filter(|id| is_in_subset(call, id.as_str()));
    if !call.flag("show_ip") {
        return Ok(Value::List(here.map(Value::from).collect()));
    }
    Ok(here
        .map(|id| (Value::from(id), address_of(call, id)))
        .collect::<Map>()
        .into())
}

/// The address that a minion's grains name first, but for loopback.
fn address_of(call: &Call<'_>, id: &MinionId) -> Value {
    let grains = call.runners.fleet.data.get(Bank::Grains, id).ok().flatten();
    let grains = grains.unwrap_or_default();
    let addresses = grains
        .get("ipv4")
        .and_then(Value::as_list)
        .unwrap_or_default();
    let addresses: Vec<&str> = addresses.iter().filter_map(Value::as_str).collect();
    let outside = addresses
        .iter()
        .find(|address| !address.starts_with("127."));
    outside
        .or_else(|| addresses.first())
        .map_or(Value::Nil, |address| (*address).into())
}

fn not_present(call: &Call<'_>) -> Ran {
    let here = call.runners.fleet.connected();
    let accepted = call.runners.keys.store.list_all()?;
    let away = accepted
        .in_state(KeyState::Accepted)
        .iter()
        .filter(|id| !here.contains(id));
    let away = away.filter(|id| is_in_subset(call, id.as_str()));
    Ok(Value::List(away.map(Value::from).collect()))
}

fn versions(call: &Call<'_>) -> Ran {
    let ours = SALT_RELEASE;
    let command = Command::new(call, "*".into(), "glob", "test.version");
    let mut rows = call.command(&command)?;
    rows.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut groups: [(&str, Map); 4] = [
        ("Minion offline", Map::new()),
        ("Minion requires update", Map::new()),
        ("Up to date", Map::new()),
        ("Minion newer than master", Map::new()),
    ];
    for row in rows {
        let version = row
            .ret
            .as_str()
            .filter(|_| !row.is_missing && !row.retcode.is_true());
        let (group, shown) = match version {
            None => (0, Value::from(false)),
            Some(version) => {
                let group = match order(version).cmp(&order(ours)) {
                    std::cmp::Ordering::Less => 1,
                    std::cmp::Ordering::Equal => 2,
                    std::cmp::Ordering::Greater => 3,
                };
                (group, version.into())
            }
        };
        if let Some((_, group)) = groups.get_mut(group) {
            group.insert(row.id, shown);
        }
    }
    let mut found: Map = groups
        .into_iter()
        .filter(|(_, group)| !group.is_empty())
        .map(|(label, group)| (Value::from(label), Value::from(group)))
        .collect();
    found.insert("Master", ours);
    Ok(found.into())
}

/// A version as numbers to compare.
fn order(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(order("3006.9") < order("3006.30"));
        assert!(order("3006.30") < order("3008.5"));
        assert_eq!(order("3008.5"), order("3008.5"));
    }
}
