//! The functions of an emulated minion: the core ones of the product (`test`,
//! `grains`, `pillar`, `mine`, `saltutil`, `cp`, `event` ...), and simulated state
//! runs, since ten thousand minions must not change one machine.

use halite_call::{Call, CallResult, Function, Module, Registry};
use halite_proto::{Map, Value};

use crate::limits::STATE_BYTES_MAX;

/// Where a minion's options say what its state runs are like.
pub const OPTION: &str = "emulate";

/// What one state of a run takes in a return, in bytes, without its comment.
const STATE_BYTES: usize = 320;

/// Bytes of one state at most; a larger run has more states.
const STATE_BYTES_LARGE: usize = 2048;

/// `RET_FAILED` of Salt: a state of the run has failed.
const STATES_FAILED: i64 = 2;

static STATE: Module = Module {
    name: "state",
    functions: &[
        Function::new(
            "state.apply",
            "(mods=None, **kwargs)",
            state_run,
            "A made up state run, of the size that the plan says, or `bytes`.",
        ),
        Function::new(
            "state.highstate",
            "(test=None, queue=None, **kwargs)",
            state_run,
            "A made up state run, of the size that the plan says, or `bytes`.",
        ),
        Function::new(
            "state.sls",
            "(mods, test=None, exclude=None, queue=None, sync_mods=None, **kwargs)",
            state_run,
            "A made up state run, of the size that the plan says, or `bytes`.",
        ),
    ],
};

static STATES: &[Module] = &[STATE];

static ALL: Registry = Registry::new(
    &[STATES, halite_core_modules::MODULES],
    &[halite_core_modules::STATES],
);

/// The functions of an emulated minion.
pub fn registry() -> &'static Registry {
    &ALL
}

fn state_run(call: &Call<'_>) -> CallResult {
    let options = call.ctx.opts().get(OPTION).and_then(Value::as_map);
    let option = |name: &str| options.and_then(|options| options.get(name));
    let asked = call.get("bytes").and_then(Value::as_i64);
    let bytes = asked.or_else(|| option("state_bytes").and_then(Value::as_i64));
    let bytes = usize::try_from(bytes.unwrap_or(0)).unwrap_or(0);
    let failing = option("failing").and_then(Value::as_f64).unwrap_or(0.0);
    let jid = call.job.load.get("jid").and_then(Value::as_str);
    let id = call.ctx.opts().get("id").and_then(Value::as_str);
    let fails = chance_of(jid.unwrap_or_default(), id.unwrap_or_default()) < failing;
    if fails {
        call.set_retcode(STATES_FAILED);
    }
    Ok(results(bytes.min(STATE_BYTES_MAX), fails).into())
}

/// Results of states that take about so many bytes; the last one fails if
/// `fails`.
fn results(bytes: usize, fails: bool) -> Map {
    let count = bytes.div_ceil(STATE_BYTES_LARGE).max(1);
    let comment_bytes = (bytes / count).saturating_sub(STATE_BYTES).max(16);
    (0..count)
        .map(|number| {
            let result = !(fails && number + 1 == count);
            let path = format!("/etc/emulated/{number:06}");
            let tag = format!("file_|-{path}_|-{path}_|-managed");
            (tag, one_result(number, &path, result, comment_bytes))
        })
        .collect()
}

fn one_result(number: usize, path: &str, result: bool, comment_bytes: usize) -> Map {
    const TEXT: &str = "File is in the correct state. ";
    let text = TEXT.bytes().cycle().take(comment_bytes);
    Map::from([
        ("name", Value::from(path)),
        ("changes", Map::new().into()),
        ("result", result.into()),
        ("comment", text.map(char::from).collect::<String>().into()),
        ("__sls__", "emulated".into()),
        ("__run_num__", i64::try_from(number).unwrap_or(0).into()),
        ("start_time", "12:00:00.000000".into()),
        ("duration", 1.5.into()),
        ("__id__", path.into()),
    ])
}

/// A number from 0 to 1 that is the same for the same job and minion.
fn chance_of(jid: &str, id: &str) -> f64 {
    // FNV-1a, which is enough to spread them.
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let bytes = jid.bytes().chain(id.bytes());
    let hash = bytes.fold(BASIS, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(PRIME)
    });
    // The last digits of ids hardly reach the upper bits by that alone.
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    let hash = hash ^ (hash >> 16);
    f64::from(hash) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use halite_proto::msgpack::{Packing, packed_len};

    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        assert!(Module::faults(&[STATES]).is_empty());
    }

    #[test]
    fn a_run_has_about_the_size_that_is_asked_for() {
        for bytes in [2_000, 20_000, 1 << 20] {
            let packed = packed_len(&results(bytes, false).into(), Packing::Wire);
            assert!(
                packed > bytes * 8 / 10 && packed < bytes * 12 / 10,
                "{packed}"
            );
        }
    }

    #[test]
    fn a_share_of_the_runs_fails() {
        let fails = |n: u32| chance_of("20261121104915836608", &format!("m{n:05}")) < 0.1;
        let failing = (0..10_000).filter(|n| fails(*n)).count();
        assert!((700..1300).contains(&failing), "{failing}");
        // In every job, also of a small herd whose ids differ at their end alone.
        for second in 10..60 {
            let jid = format!("202611221049{second}836608");
            let fails = |n: &u32| chance_of(&jid, &format!("emu{n:05}")) < 0.1;
            let failing = (0..300).filter(fails).count();
            assert!((5..100).contains(&failing), "{failing} in {jid}");
        }
        let failed = results(10_000, true);
        let bad = failed
            .values()
            .filter(|state| state.as_map().and_then(|s| s.get("result")) == Some(&false.into()));
        assert_eq!(bad.count(), 1);
    }
}
