//! Synchronised trees: `rsync.synchronized`.

use halite_call::{Call, CallResult, Function, Module, StateReturn, os_error, paths, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "rsync",
    functions: &[Function::new(
        "rsync.synchronized",
        "(name, source, delete=False, force=False, update=False, passwordfile=None, exclude=None, excludefrom=None, prepare=False, dryrun=False, additional_opts=None)",
        synchronized,
        "A directory holds what another has, here or elsewhere; with prepare it is made,\nwith delete what is not in the source goes.",
    )],
};

fn synchronized(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let place = call.host().path(&name);
    if !place.exists() {
        if !call.flag("prepare") {
            let comment = format!("Destination directory {name} was not found.");
            return Ok(state.failed(comment).into());
        }
        // rsync tells in test mode what it would do only where there is a
        // directory; an empty one that it would make is no harm elsewhere.
        if !call.is_test() {
            paths::create_dir_all(&place).map_err(|error| os_error(&error, &name))?;
        }
    }
    let tries = call.is_test() || call.flag("dryrun");
    let given = [
        "delete",
        "force",
        "update",
        "passwordfile",
        "exclude",
        "excludefrom",
        "additional_opts",
    ];
    let mut kwargs: Map = given
        .iter()
        .map(|name| (*name, call.arg(name).clone()))
        .collect();
    kwargs.insert("dryrun", tries);
    let args = [call.arg("source").clone(), call.arg("name").clone()];
    let ran = call.salt("rsync.rsync", &args, kwargs)?;
    let text = |key: &str| ran.get(key).map(python::str).unwrap_or_default();
    if ran.get("retcode").and_then(Value::as_i64) != Some(0) {
        return Ok(state.failed(text("stderr")).into());
    }
    let said = Said::read(&text("stdout"));
    let comment = said.summary();
    if tries {
        return Ok(state.pending(comment).into());
    }
    let mut state = state.ok(comment);
    for (key, names) in [("copied", said.copied), ("deleted", said.deleted)] {
        if !names.is_empty() {
            state.changes.insert(key, names.join("\n"));
        }
    }
    Ok(state.into())
}

/// What rsync tells of a copy.
#[derive(Default)]
struct Said {
    copied: Vec<String>,
    deleted: Vec<String>,
    /// Its last lines: how much, how fast.
    figures: Vec<String>,
}

impl Said {
    /// Names come after the first line, up to an empty one; figures after it.
    fn read(text: &str) -> Self {
        let mut said = Self::default();
        let mut lines = text.lines().skip(1);
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            match line.strip_prefix("deleting ") {
                Some(name) => said.deleted.push(name.to_owned()),
                None => said.copied.push(line.to_owned()),
            }
        }
        let figures = lines.flat_map(|line| line.split("  "));
        said.figures = figures
            .map(str::trim)
            .filter(|figure| !figure.is_empty())
            .map(str::to_owned)
            .collect();
        said
    }

    fn summary(&self) -> String {
        format!("- {}", self.figures.join("\n- "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_figures() {
        let said = Said::read(
            "sending incremental file list\nsrc/\nsrc/f\ndeleting q\n\n\
             sent 5 bytes  received 3 bytes  16.00 bytes/sec\ntotal size is 5  speedup is 0.62\n",
        );
        assert_eq!(said.copied, ["src/", "src/f"]);
        assert_eq!(said.deleted, ["q"]);
        assert_eq!(
            said.summary(),
            "- sent 5 bytes\n- received 3 bytes\n- 16.00 bytes/sec\n- total size is 5\n- speedup is 0.62"
        );
        assert_eq!(Said::read("").summary(), "- ");
    }
}
