//! `--preview-target`: whom a target means, from the accepted keys alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use halite_proto::{MinionId, Value};
use halite_target::glob::Glob;
use halite_target::pcre::Pcre;

use crate::Exit;
use crate::command::Command;
use crate::options::{SaltOptions, Stop};

/// The accepted ids that a target means, sorted.
///
/// # Errors
/// When the kind of target needs more than ids, or the keys cannot be read.
pub(super) fn matching(command: &Command, accepted: &Path) -> Result<Vec<String>, Stop> {
    let failed = |text: String| Stop {
        stdout: String::new(),
        stderr: format!("salt: error: {text}\n"),
        exit: Exit::Failure,
    };
    let ids = accepted_ids(accepted)
        .map_err(|error| failed(format!("could not read {}: {error}", accepted.display())))?;
    let target = &command.target;
    let text = target.as_str().unwrap_or_default();
    let matching: BTreeSet<String> = match command.target_kind {
        "glob" => {
            let globs: Vec<Glob> = text.split(',').map(Glob::new).collect();
            let is_meant = |id: &String| globs.iter().any(|glob| glob.matches(id));
            ids.into_iter().filter(is_meant).collect()
        }
        "list" => {
            let wanted = target.as_list().unwrap_or_default();
            let is_meant = |id: &String| wanted.contains(&Value::from(id.as_str()));
            ids.into_iter().filter(is_meant).collect()
        }
        "pcre" => {
            let pattern = Pcre::new(text).map_err(|error| failed(error.render(text)))?;
            let mut matching = BTreeSet::new();
            for id in ids {
                if pattern
                    .matches_start(&id)
                    .map_err(|error| failed(error.render(text)))?
                {
                    matching.insert(id);
                }
            }
            matching
        }
        kind => {
            return Err(Stop::usage::<SaltOptions>(&format!(
                "--preview-target is not supported yet for targets of the kind {kind}"
            )));
        }
    };
    Ok(matching.into_iter().collect())
}

fn accepted_ids(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut ids = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().into_string().ok();
        let id = name.filter(|name| !name.starts_with('.'));
        ids.extend(id.filter(|id| MinionId::parse(id.as_str()).is_ok()));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn previewed(target: Value, kind: &'static str) -> Result<Vec<String>, Stop> {
        let dir = tempfile::tempdir().unwrap();
        for id in ["web1", "web2", "db1", ".key_cache"] {
            fs::write(dir.path().join(id), "").unwrap();
        }
        let command = Command {
            target,
            target_kind: kind,
            function: Value::from(""),
            arguments: Vec::new(),
        };
        matching(&command, dir.path())
    }

    #[test]
    fn ids_are_matched_by_glob_list_and_regular_expression() {
        assert_eq!(
            previewed("*".into(), "glob").unwrap(),
            ["db1", "web1", "web2"]
        );
        assert_eq!(
            previewed("web2,w*1".into(), "glob").unwrap(),
            ["web1", "web2"]
        );
        assert_eq!(previewed("web|x".into(), "pcre").unwrap(), ["web1", "web2"]);
        let list = Value::List(vec!["db1".into(), "nosuch".into()]);
        assert_eq!(previewed(list, "list").unwrap(), ["db1"]);
    }

    #[test]
    fn what_needs_more_than_ids_is_refused() {
        let stop = previewed("os:x".into(), "grain").unwrap_err();
        assert_eq!(stop.exit, Exit::Usage);
        let stop = previewed("(".into(), "pcre").unwrap_err();
        assert_eq!(stop.exit, Exit::Failure);
    }
}
