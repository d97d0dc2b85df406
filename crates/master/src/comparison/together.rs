//! What the masters of a cluster have in common, and where they keep their data.

use halite_crypto::{HashType, hash_hex};
use halite_proto::{Map, Value};

use super::facts::Known;

/// The cluster, as this master knows it; nothing where it belongs to none.
pub(super) fn cluster(known: Known<'_>) -> Map {
    let Some(cluster) = known.cluster else {
        return Map::new();
    };
    let mut members: Vec<String> = match known.registers {
        Some(registers) => {
            let members = registers.members().into_iter();
            members.map(|member| member.id.to_string()).collect()
        }
        None => {
            let peers = cluster.mesh.peers().into_iter();
            let peers = peers.map(|peer| peer.peer.to_string());
            peers.chain([cluster.own.to_string()]).collect()
        }
    };
    members.sort_unstable();
    let key = known.publishing.publisher.key();
    let mut facts = Map::from([
        ("cluster_id", Value::from(cluster.settings.id.as_str())),
        ("members", members.join(", ").into()),
        (
            "publish key",
            short_hash(key.key.expose().as_bytes()).into(),
        ),
    ]);
    if let Some((made_us, by)) = cluster.secret.made() {
        facts.insert("secret", format!("made by {by} at {made_us}"));
    }
    let bus = cluster.mesh.bus().map(|bus| bus.servers.join(", "));
    facts.insert("cluster_bus", bus.unwrap_or_else(|| "none".to_owned()));
    facts
}

/// The store of each role. The server may differ: each master may have one nearby.
pub(super) fn places(known: Known<'_>) -> Map {
    known.jobs.health.kinds()
}

fn short_hash(bytes: &[u8]) -> String {
    hash_hex(HashType::Sha256, bytes).chars().take(16).collect()
}
