//! The schedule in its files: saved by the scheduler, or by this module if none
//! runs; read again.

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use super::listing::{in_includes, saved, saved_file};
use super::{Report, SETTINGS, ask, flag};
use halite_call::Refresh;
use halite_call::{Call, CallError, CallResult, os_error, paths};

/// The mode of the saved schedule.
const SAVED_MODE: u32 = 0o600;

pub(super) fn save(call: &Call<'_>) -> CallResult {
    if flag(call, "test", false) {
        return Ok(Report::new(true, "Schedule would be saved.").into_value());
    }
    Ok(match ask(call, "save_schedule", []) {
        Some(_) => Report::new(true, "Schedule (non-pillar items) saved."),
        None => Report::new(false, "Failed to save schedule."),
    }
    .into_value())
}

pub(super) fn reload(call: &Call<'_>) -> CallResult {
    let mut comments: Vec<Value> = Vec::new();
    let mut result = true;
    if call.ctx.pillar().contains_key("schedule") {
        let what = Refresh::Pillar { clean_cache: false };
        let done = call.ctx.refresh(what, None).is_ok();
        result &= done;
        comments.push(
            match done {
                true => "Reloaded schedule from pillar on minion.",
                false => "Failed to reload schedule from pillar on minion.",
            }
            .into(),
        );
    }
    let file = in_includes(call, "schedule.conf");
    if file.is_file() {
        let text = std::fs::read_to_string(&file).map_err(|error| os_error(&error, &file))?;
        let schedule = match halite_yaml::load(&text, "schedule.conf") {
            Ok(node) => node.to_value().get("schedule").cloned(),
            Err(error) => {
                comments.push(format!("Unable to read existing schedule file: {error}").into());
                None
            }
        };
        let (done, comment) = match schedule.filter(Value::is_true) {
            Some(schedule) => match ask(call, "reload", [("schedule", schedule)]) {
                Some(_) => (true, "Reloaded schedule on minion from schedule.conf."),
                None => (
                    false,
                    "Failed to reload schedule on minion from schedule.conf.",
                ),
            },
            None => (
                false,
                "Failed to reload schedule on minion.  Saved file is empty or invalid.",
            ),
        };
        result &= done;
        comments.push(comment.into());
    }
    Ok(Report::new(result, Value::List(comments)).into_value())
}

/// Writes the saved schedule of a minion that does not run.
pub(super) fn save_offline(call: &Call<'_>, jobs: Map) -> Result<(), CallError> {
    let path = saved_file(call);
    let failed = |error: String| CallError::command(format!("the schedule is not saved: {error}"));
    if let Some(folder) = path.parent() {
        paths::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    }
    // Settings that are no jobs stay.
    let mut schedule = saved(call);
    schedule.retain(|name, _| name.as_str().is_some_and(|name| SETTINGS.contains(&name)));
    schedule.extend(jobs);
    let document = Map::from([("schedule", schedule)]);
    let text = dump(&document.into(), DumpOptions::block());
    halite_crypto::files::create_private(&path, SAVED_MODE, text.as_bytes())
        .map_err(|error| failed(error.to_string()))
}
