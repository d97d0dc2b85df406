//! What a master thinks of its cluster, to compare with what others think.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use anyhow::Result;
use halite_integration_tests::{Kind, Master};
use serde_json::{Value, json};

/// Its members, the publish key, which is in `pki`, and the minions that it has accepted.
pub(crate) fn view(master: &Master, pki: &Path) -> Result<Value> {
    let shown = |function: &str| -> Result<Value> {
        let shown = master.tools(Kind::Ours).runner(&[function, "--out=json"])?;
        Ok(serde_json::from_str(&shown.ok()?.stdout)?)
    };
    let members = shown("cluster.members")?["members"].clone();
    let members = members.as_object().cloned().unwrap_or_default();
    let linked = members
        .values()
        .filter(|of| of["connected"] == true)
        .count();
    let mut names: Vec<&String> = members.keys().collect();
    names.sort();
    let registers = shown("cluster.status")?["registers"].clone();
    let listed = master.key(&["-L", "--out=json"])?.ok()?.json()?;
    let minions = listed["minions"].as_array().cloned().unwrap_or_default();
    let mut minions: Vec<String> = minions
        .iter()
        .filter_map(|of| of.as_str().map(str::to_owned))
        .collect();
    minions.sort();
    Ok(json!({
        "members": names,
        "linked": linked,
        "epoch": registers["publish_key_epoch"],
        "publish_key": digest(&fs::read(pki.join(".aes"))?),
        "minions": minions,
    }))
}

/// Tells keys from each other without showing them.
fn digest(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
