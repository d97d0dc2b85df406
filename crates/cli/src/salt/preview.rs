//! `--preview-target`: which minions a target matches, by the accepted keys and the
//! master's data about its minions.

use std::cell::OnceCell;

use halite_key::{KeyState, KeyStore};
use halite_proto::chain;
use halite_proto::{Map, MinionId, Value};
use halite_store::{Bank, MinionData};
use halite_target::glob::Glob;
use halite_target::{Reading, Subject, Target};

use crate::Exit;
use crate::command::Command;
use crate::options::Stop;
use halite_client::{ClientSettings, NodegroupError, Nodegroups};

/// A target that was understood.
struct Understood {
    /// Its text, with node groups written out.
    target: Value,
    kind: &'static str,
    parsed: Target,
}

/// Refuses a target that cannot be understood, with the place of the mistake:
/// the master would only say that nobody is meant.
///
/// # Errors
/// When the target cannot be understood.
pub(super) fn check(
    command: &Command,
    settings: &ClientSettings,
    delimiter: &str,
) -> Result<(), Stop> {
    if let ("nodegroup", Value::Str(name)) = (command.target_kind, &command.target)
        && let Err(NodegroupError::Unknown { .. }) = groups(settings).expand(name)
    {
        // A group that is not there is said where the job is made, as Salt
        // does.
        return Ok(());
    }
    understand(command, settings, delimiter).map(drop)
}

fn groups(settings: &ClientSettings) -> Nodegroups<'_> {
    Nodegroups {
        groups: &settings.nodegroups,
        file: &settings.conf_file,
    }
}

fn refused(text: &str) -> Stop {
    Stop {
        stdout: String::new(),
        stderr: format!("salt: error: {text}\n"),
        exit: Exit::NoReturn,
    }
}

fn understand(
    command: &Command,
    settings: &ClientSettings,
    delimiter: &str,
) -> Result<Understood, Stop> {
    let groups = groups(settings);
    let expanded = match (command.target_kind, &command.target) {
        ("nodegroup", Value::Str(name)) => Some(groups.expand(name)),
        ("compound", Value::Str(text)) => Some(groups.expand_in(text)),
        _ => None,
    };
    let expanded = expanded
        .transpose()
        .map_err(|error| refused(&error.to_string()))?;
    let (target, kind) = match expanded {
        Some(text) => (Value::from(text), "compound"),
        None => (command.target.clone(), command.target_kind),
    };
    let reading = Reading {
        delimiter,
        nodegroups: None,
        ranges: Some(&settings.range_server),
    };
    let text = target.as_str().unwrap_or_default();
    let name = command.target.as_str().unwrap_or_default();
    let parsed = Target::parse_with(&target, kind, &reading).map_err(|error| {
        let within = match command.target_kind {
            "nodegroup" => format!("in node group {name}: "),
            _ => String::new(),
        };
        refused(&format!("{within}{}", error.render(text)))
    })?;
    Ok(Understood {
        target,
        kind,
        parsed,
    })
}

/// The accepted ids that a target means, sorted.
///
/// # Errors
/// When the target cannot be understood, or the keys cannot be read.
pub(super) fn matching(
    command: &Command,
    settings: &ClientSettings,
    delimiter: &str,
) -> Result<Vec<String>, Stop> {
    let Understood {
        target,
        kind,
        parsed,
    } = understand(command, settings, delimiter)?;
    let accepted = KeyStore::open_existing_at(&settings.keys_dir, settings.places.keys.as_ref())
        .and_then(|keys| keys.list(KeyState::Accepted));
    let ids = accepted.map_err(|error| Stop {
        exit: Exit::Failure,
        ..refused(&chain(&error))
    })?;
    // Commas separate several globs here, other than on minions.
    if let ("glob", Value::Str(globs)) = (kind, &target) {
        let globs: Vec<Glob> = globs.split(',').map(Glob::new).collect();
        let is_meant = |id: &MinionId| globs.iter().any(|glob| glob.matches(id.as_str()));
        return Ok(ids.into_iter().filter(is_meant).map(String::from).collect());
    }
    if parsed.needs_data() && !settings.minion_data_cache {
        return Ok(ids.into_iter().map(String::from).collect());
    }
    let data = settings.store().data;
    let with_unknown = settings.targets_uncached;
    let is_meant = |id: &MinionId| parsed.matches(&Known::new(id, &data, with_unknown));
    Ok(ids.into_iter().filter(is_meant).map(String::from).collect())
}

/// A minion with what is kept of it, read when the target asks for it.
struct Known<'a> {
    id: &'a MinionId,
    data: &'a MinionData,
    with_unknown: bool,
    grains: OnceCell<Option<Map>>,
    pillar: OnceCell<Option<Map>>,
}

impl<'a> Known<'a> {
    fn new(id: &'a MinionId, data: &'a MinionData, with_unknown: bool) -> Self {
        Self {
            id,
            data,
            with_unknown,
            grains: OnceCell::new(),
            pillar: OnceCell::new(),
        }
    }

    fn read(&self, bank: Bank) -> Option<Map> {
        self.data.get(bank, self.id).ok().flatten()
    }
}

impl Subject for Known<'_> {
    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn grains(&self) -> Option<&Map> {
        self.grains.get_or_init(|| self.read(Bank::Grains)).as_ref()
    }

    fn pillar(&self) -> Option<&Map> {
        self.pillar.get_or_init(|| self.read(Bank::Pillar)).as_ref()
    }

    fn matches_unknown(&self) -> bool {
        self.with_unknown
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn previewed(target: Value, kind: &'static str) -> Result<Vec<String>, Stop> {
        let dir = tempfile::tempdir().unwrap();
        let keys = dir.path().join("pki/minions");
        fs::create_dir_all(&keys).unwrap();
        for id in ["web1", "web2", "db1", ".key_cache"] {
            fs::write(keys.join(id), "").unwrap();
        }
        let opts = Map::from([
            (
                "pki_dir",
                Value::from(dir.path().join("pki").to_str().unwrap()),
            ),
            (
                "cachedir",
                dir.path().join("cache").to_str().unwrap().into(),
            ),
            (
                "nodegroups",
                Map::from([("web", "G@role:web or db1"), ("loop", "web1 or N@loop")]).into(),
            ),
        ]);
        let settings = ClientSettings::from_opts(&opts).unwrap();
        let data = settings.store().data;
        let web1 = MinionId::parse("web1").unwrap();
        data.put(Bank::Grains, &web1, &Map::from([("role", "web")]))
            .unwrap();
        let command = Command {
            target,
            target_kind: kind,
            function: Value::from(""),
            arguments: Vec::new(),
        };
        matching(&command, &settings, ":")
    }

    #[test]
    fn ids_are_matched_by_glob_list_and_regular_expression() {
        let all = ["db1", "web1", "web2"];
        assert_eq!(previewed("*".into(), "glob").unwrap(), all);
        let globs = previewed("web2,w*1".into(), "glob").unwrap();
        assert_eq!(globs, ["web1", "web2"]);
        let pcre = previewed("web|x".into(), "pcre").unwrap();
        assert_eq!(pcre, ["web1", "web2"]);
        let list = Value::List(vec!["db1".into(), "nosuch".into()]);
        assert_eq!(previewed(list, "list").unwrap(), ["db1"]);
    }

    #[test]
    fn what_is_kept_of_minions_decides_where_more_is_asked() {
        assert_eq!(previewed("role:w*".into(), "grain").unwrap(), ["web1"]);
        let compound = previewed("web* and not G@role:web".into(), "compound");
        assert_eq!(compound.unwrap(), ["web2"]);
        let group = previewed("web".into(), "nodegroup").unwrap();
        assert_eq!(group, ["db1", "web1"]);
        let stop = previewed("(".into(), "pcre").unwrap_err();
        assert_eq!(stop.exit, Exit::NoReturn);
        let stop = previewed("nosuch".into(), "nodegroup").unwrap_err();
        assert!(stop.stderr.contains("Node group nosuch"), "{}", stop.stderr);
        let stop = previewed("loop".into(), "nodegroup").unwrap_err();
        assert_eq!(
            stop.stderr,
            "salt: error: the node group \"loop\" is part of itself, by way of loop\n"
        );
    }
}
