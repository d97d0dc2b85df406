//! The packages that dpkg knows of.

use std::os::unix::fs::MetadataExt;

use halite_call::Call;
use halite_call::host::Program;
use halite_proto::{Map, Value};

use crate::pkg::error::PkgError;
use crate::pkg::lists;

/// All packages in three lists. A state run asks once while the database stays
/// as it is.
pub(super) fn all(call: &Call<'_>) -> Result<Map, PkgError> {
    const KEY: &str = "pkg.list_pkgs";
    let stamp = call
        .host()
        .path("/var/lib/dpkg/status")
        .metadata()
        .map(|meta| {
            Value::List(vec![
                meta.ino().into(),
                meta.mtime().into(),
                meta.mtime_nsec().into(),
                meta.size().into(),
            ])
        })
        .unwrap_or_default();
    if !stamp.is_nil()
        && let Some(Value::Map(kept)) = remembered(call, KEY, &stamp)
    {
        return Ok(kept);
    }
    let lists = read_all(call)?;
    remember(call, KEY, stamp, lists.clone().into());
    Ok(lists)
}

fn read_all(call: &Call<'_>) -> Result<Map, PkgError> {
    let ran = Program::new(
        call,
        &[
            "dpkg-query",
            "--showformat",
            "${Status} ${Package} ${Version} ${Architecture}\n",
            "-W",
        ],
    )
    .run()?;
    let grains = call.ctx.grains();
    let (mut installed, mut removed, mut purge) = (Map::new(), Map::new(), Map::new());
    for line in ran.stdout.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [wanted, _, status, name, version, arch, ..] = columns.as_slice() else {
            continue;
        };
        let name = with_arch(&grains, name, arch);
        if (wanted.contains("install") || wanted.contains("hold")) && status.contains("installed") {
            lists::add(&mut installed, &name, version);
        } else if wanted.contains("deinstall") {
            lists::add(&mut removed, &name, version);
        } else if wanted.contains("purge") && *status == "installed" {
            lists::add(&mut purge, &name, version);
        }
    }
    for list in [&mut installed, &mut removed, &mut purge] {
        lists::sort(list);
    }
    Ok(Map::from([
        ("installed", installed),
        ("removed", removed),
        ("purge_desired", purge),
    ]))
}

/// A package of another architecture has it in its name.
pub(super) fn with_arch(grains: &Map, name: &str, arch: &str) -> String {
    let text = |key: &str| grains.get(key).and_then(Value::as_str).unwrap_or_default();
    let foreign = text("cpuarch") == "x86_64"
        && arch != "all"
        && text("osarch") == "amd64"
        && arch != "amd64";
    if foreign {
        format!("{name}:{arch}")
    } else {
        name.to_owned()
    }
}

/// What a state run keeps under `key`, if its stamp is still `stamp`.
fn remembered(call: &Call<'_>, key: &str, stamp: &Value) -> Option<Value> {
    let state = call.job.state.as_ref()?;
    let memo = state.memo.lock().ok()?;
    let kept = memo.get(key)?;
    (kept.get("stamp") == Some(stamp)).then(|| kept.get("value").cloned())?
}

/// Keeps something for the length of the state run.
fn remember(call: &Call<'_>, key: &str, stamp: Value, value: Value) {
    if let Some(state) = &call.job.state
        && let Ok(mut memo) = state.memo.lock()
    {
        memo.insert(key, Map::from([("stamp", stamp), ("value", value)]));
    }
}
