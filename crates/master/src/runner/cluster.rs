//! `cluster.*`: the masters of the cluster.
//!
//! `cluster.members` has Salt's name; what it shows is ours, as there are no
//! voters, terms and leaders.

use std::collections::{BTreeMap, BTreeSet};

use halite_cluster::PeerId;
use halite_mesh::{PeerAddress, PeerStatus, Way};
use halite_proto::{Map, Value, time};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;
use crate::cluster::Cluster;
use crate::cluster::drain::Stage;
use crate::error::chain;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "cluster.drain",
        "()",
        drain,
        "Hands the minions of this master over to the others: `health_port` answers that it\n\
         is not ready, and after `cluster_drain_time` the publish port closes, so that minions\n\
         connect to another master. Requests are served as before.\n\n\
         Returns whether this started it. `cluster.status` shows progress; a restart undoes it.",
    ),
    Function::new(
        "cluster.members",
        "()",
        members,
        "The masters of the cluster, and which of them are connected to this one.",
    ),
    Function::new(
        "cluster.remove",
        "(peer)",
        remove,
        "Removes a master from the cluster: the others cut it off at once and get a new\n\
         publish key and, where they share no files, a new secret as by\n\
         `cluster.rotate_secret`.",
    ),
    Function::new(
        "cluster.rotate_keys",
        "()",
        rotate_keys,
        "Makes a new publish key for the whole cluster.",
    ),
    Function::new(
        "cluster.rotate_secret",
        "()",
        rotate_secret,
        "Makes a new secret for masters that join, in place of `cluster_secret` in the\n\
         configuration of each member. Members that are not connected get it later.\n\n\
         Returns the file on this master that holds it.",
    ),
    Function::new(
        "cluster.status",
        "()",
        status,
        "How this master sees the cluster.",
    ),
];

/// The cluster that this master belongs to; without one, nothing can be run here.
pub(super) fn own_cluster<'c>(call: &'c Call<'_>) -> Result<&'c Cluster, RunnerError> {
    let cluster = call.runners.cluster.as_deref();
    cluster.ok_or_else(|| {
        RunnerError::Failed("this master belongs to no cluster (cluster_id)".to_owned())
    })
}

fn members(call: &Call<'_>) -> Ran {
    let cluster = own_cluster(call)?;
    let mut members = Map::new();
    let own = cluster.settings.address(cluster.own.as_str());
    members.insert(cluster.own.as_str(), member(&own, true, 0));
    for peer in cluster.mesh.peers() {
        members.insert(peer.peer.as_str(), shown(&peer));
    }
    if let Some(registers) = &call.runners.registers {
        for known in registers.members() {
            if !members.contains_key(known.id.as_str()) {
                members.insert(known.id.as_str(), member(&known.address, false, 0));
            }
        }
    }
    Ok(Map::from([
        ("node_id", Value::from(cluster.own.as_str())),
        ("members", members.into()),
    ])
    .into())
}

/// The other members of the cluster, whether they are connected or not, as
/// [`ask`](super::masters::ask) names masters; none of a master on its own.
pub(super) fn other_members(call: &Call<'_>) -> Vec<String> {
    let Some(cluster) = call.runners.cluster.as_deref() else {
        return Vec::new();
    };
    let mut others = BTreeMap::new();
    for known in call.runners.registers.iter().flat_map(|it| it.members()) {
        let host = host_of(&known.id, &known.address);
        others.insert(known.id, host);
    }
    for peer in cluster.mesh.peers() {
        let host = match &peer.dialled {
            Some(Way::Direct(address)) => address.host().to_owned(),
            Some(Way::Bus(_)) | None => host_of(&peer.peer, ""),
        };
        others.entry(peer.peer).or_insert(host);
    }
    others.remove(&cluster.own);
    others.into_values().collect()
}

/// The other members of the cluster that are known here, whether they are connected or
/// not.
pub(super) fn known_peers(call: &Call<'_>) -> Vec<PeerId> {
    let Some(cluster) = call.runners.cluster.as_deref() else {
        return Vec::new();
    };
    let members = call.runners.registers.iter().flat_map(|it| it.members());
    let mut peers: BTreeSet<PeerId> = members.map(|known| known.id).collect();
    peers.extend(cluster.mesh.peers().into_iter().map(|peer| peer.peer));
    peers.remove(&cluster.own);
    peers.into_iter().collect()
}

/// Where a member is: its address, or its id, which is what the others write in
/// `cluster_peers`.
fn host_of(id: &PeerId, address: &str) -> String {
    match PeerAddress::parse(address, 0) {
        Ok(address) => address.host().to_owned(),
        Err(_) => id.as_str().to_owned(),
    }
}

fn shown(peer: &PeerStatus) -> Value {
    let address = peer.dialled.as_ref().map(ToString::to_string);
    member(
        &address.unwrap_or_default(),
        peer.is_connected(),
        peer.behind,
    )
}

fn member(address: &str, is_connected: bool, behind: u64) -> Value {
    let address = match address {
        "" => Value::Nil,
        address => address.into(),
    };
    Map::from([
        ("address", address),
        ("connected", is_connected.into()),
        ("behind", behind.into()),
    ])
    .into()
}

fn status(call: &Call<'_>) -> Ran {
    let cluster = own_cluster(call)?;
    let peers = cluster.mesh.peers();
    let names = |is_wanted: fn(&PeerStatus) -> bool| {
        let peers = peers.iter().filter(|peer| is_wanted(peer));
        Value::List(peers.map(|peer| peer.peer.as_str().into()).collect())
    };
    let is_away = |peer: &PeerStatus| !peer.is_connected();
    let mut status = Map::from([
        ("cluster_id", Value::from(cluster.settings.id.as_str())),
        ("node_id", cluster.own.as_str().into()),
        ("isolated", cluster.settings.isolated.into()),
        ("connected", names(PeerStatus::is_connected)),
        ("away", names(is_away)),
        ("runs_schedule", cluster.leads().into()),
        ("first", cluster.first().into()),
        ("exclusive", cluster.lease.is_some().into()),
        ("half", peers.iter().any(is_away).into()),
        ("drain", stage(cluster).into()),
    ]);
    if let Some(bus) = cluster.mesh.bus() {
        let servers = bus.servers.into_iter().map(Value::from);
        let bus = Map::from([
            ("servers", Value::List(servers.collect())),
            ("connected", bus.is_connected.into()),
            ("storing", bus.is_storing.into()),
        ]);
        status.insert("bus", bus);
    }
    if let Some(registers) = &call.runners.registers {
        let of = registers.status();
        let settled = of.settled_ago.map(|ago| ago.as_secs());
        let registers = Map::from([
            ("minions", Value::from(of.names - of.deleted)),
            ("deleted", of.deleted.into()),
            ("publish_key_epoch", of.epoch.into()),
            ("settled_seconds_ago", settled.into()),
            ("joining", of.is_joining.into()),
            ("trouble", of.trouble.into()),
        ]);
        status.insert("registers", registers);
        let made = cluster.secret.made();
        let secret = made.map(|(made_us, by)| {
            let made = time::jid_to_text(&time::jid_from_micros(made_us));
            Map::from([("made", Value::from(made)), ("by", by.as_str().into())])
        });
        status.insert("secret", secret);
    }
    if let Some(shared) = &call.runners.shared_data {
        let (known, lacking) = shared.counts();
        let data = Map::from([("known", Value::from(known)), ("lacking", lacking.into())]);
        status.insert("minion_data", data);
    }
    Ok(status.into())
}

/// Begins to hand the minions over.
fn drain(call: &Call<'_>) -> Ran {
    let cluster = own_cluster(call)?;
    if cluster.serving().is_empty() {
        return Err(RunnerError::Failed(
            "no other master that accepts minions is connected; a master that hands its minions \
             over accepts none until it is restarted"
                .to_owned(),
        ));
    }
    Ok(cluster.drain.ask().into())
}

fn stage(cluster: &Cluster) -> &'static str {
    match cluster.drain.stage() {
        Stage::Serving => "no",
        Stage::Asked => "in progress",
        Stage::HandedOver => "done",
    }
}

fn remove(call: &Call<'_>) -> Ran {
    let cluster = own_cluster(call)?;
    let failed = |why: String| RunnerError::Failed(why);
    let name = call.text("peer").unwrap_or_default();
    let peer = PeerId::parse(name).map_err(|error| failed(error.to_string()))?;
    if peer.as_str() == cluster.own.as_str() {
        return Err(failed(
            "a master cannot remove itself: run cluster.remove on another master".to_owned(),
        ));
    }
    let is_removed = match &call.runners.registers {
        Some(registers) => registers
            .remove(&peer)
            .map_err(|error| failed(chain(&error)))?,
        None => {
            let removed = cluster.dir.remove_peer(peer.as_str());
            let removed = removed.map_err(|error| failed(chain(&error)))?;
            if removed {
                let pins = cluster.mesh.refresh_pins();
                pins.map_err(|error| failed(chain(&error)))?;
                call.runners.publishing.rotate();
            }
            removed
        }
    };
    if is_removed && cluster.settings.isolated && cluster.secret.proofs().is_some() {
        // It knows that too.
        cluster
            .rotate_secret()
            .map_err(|error| failed(chain(&error)))?;
    }
    match is_removed {
        true => Ok(true.into()),
        false => Err(failed(format!("the cluster has no member {peer}"))),
    }
}

fn rotate_keys(call: &Call<'_>) -> Ran {
    own_cluster(call)?;
    call.runners.publishing.rotate();
    Ok(true.into())
}

fn rotate_secret(call: &Call<'_>) -> Ran {
    let cluster = own_cluster(call)?;
    if !cluster.settings.isolated {
        return Err(RunnerError::Failed(
            "these masters share `cluster_pki_dir`: nobody joins them by a secret \
             (cluster_isolated_filesystem)"
                .to_owned(),
        ));
    }
    let rotated = cluster.rotate_secret();
    rotated.map_err(|error| RunnerError::Failed(chain(&error)))?;
    Ok(cluster.secret.path().display().to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_asked_where_it_listens_or_by_its_name() {
        let id = PeerId::parse("m2.example").unwrap();
        for (address, host) in [
            ("10.0.0.2:4520", "10.0.0.2"),
            ("[fd00::2]:4520", "fd00::2"),
            ("m2:4520", "m2"),
            ("", "m2.example"),
            ("no address", "m2.example"),
        ] {
            assert_eq!(host_of(&id, address), host, "{address}");
        }
    }
}
