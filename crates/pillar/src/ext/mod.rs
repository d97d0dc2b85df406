//! External pillars: data about a minion from programs, directories and modules in
//! Python.
//!
//! Mirrors `salt/pillar/{cmd_yaml,cmd_json}.py` of 3008.5. Others than these and
//! those in the files beside this one are custom (`_pillar`), or those of an
//! installed Salt. Invariant: a missing one is an error in the pillar, never left
//! out silently.

mod command;
mod file_tree;
mod git;
mod groups;
mod minion_data;
mod stack;

use halite_proto::{Map, Value, json};
use halite_range::RangeServer;

use crate::effects::{Effects, Known, Module};
use crate::merge::Merging;
use crate::options::SettingsError;
use crate::repository::Repositories;
use crate::request::Request;
use crate::tree::Tree;

/// The external pillars that need no Python.
pub const NAMES: &[&str] = &[
    "cmd_json",
    "cmd_yaml",
    "extra_minion_data_in_pillar",
    "file_tree",
    "git",
    "nodegroups",
    "stack",
];

/// An entry of `ext_pillar`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum External {
    /// The YAML that a command writes.
    CommandYaml { command: String },
    /// The JSON that a command writes.
    CommandJson { command: String },
    /// The files of a directory.
    FileTree(file_tree::FileTree),
    /// The node groups that the minion is in, under this key.
    Groups { key: String },
    /// What the minion says of itself.
    MinionData(minion_data::Included),
    /// Files that configuration files list.
    Stack(stack::Stack),
    /// Repositories, if somebody has fetched them; otherwise a module in Python.
    Git {
        /// Which of the entries of this name it is.
        nth: usize,
        module: Module,
    },
    /// A module in Python.
    Module(Module),
}

impl External {
    /// Reads one entry.
    ///
    /// # Errors
    /// When its name is none, or its arguments are wrong.
    pub(crate) fn parse(name: &Value, arguments: &Value) -> Result<Self, SettingsError> {
        let command = || {
            let argument = match arguments {
                Value::List(items) => items.first(),
                Value::Map(named) => named.get("command"),
                other => Some(other),
            };
            let command = argument.and_then(Value::as_str).map(str::to_owned);
            command.ok_or(SettingsError::MalformedExternals)
        };
        match name.as_str().unwrap_or_default() {
            "cmd_yaml" => Ok(Self::CommandYaml {
                command: command()?,
            }),
            "cmd_json" => Ok(Self::CommandJson {
                command: command()?,
            }),
            "file_tree" => Ok(Self::FileTree(file_tree::FileTree::parse(arguments))),
            "nodegroups" => Ok(Self::Groups {
                key: groups::key(arguments),
            }),
            "extra_minion_data_in_pillar" => minion_data::Included::parse(arguments)
                .map(Self::MinionData)
                .ok_or(SettingsError::MalformedExternals),
            "stack" => Ok(Self::Stack(stack::Stack::parse(arguments))),
            // The name is a part of a path, and of a function's name.
            name if is_name(name) => Ok(Self::Module(Module::parse(name, arguments))),
            _ => Err(SettingsError::MalformedExternals),
        }
    }

    /// Whether all that it gives is what the minion has said.
    pub(crate) fn is_minions(&self) -> bool {
        matches!(self, Self::MinionData(_))
    }

    /// The name in the options.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::CommandYaml { .. } => "cmd_yaml",
            Self::CommandJson { .. } => "cmd_json",
            Self::FileTree(_) => "file_tree",
            Self::Groups { .. } => "nodegroups",
            Self::MinionData(_) => "extra_minion_data_in_pillar",
            Self::Stack(_) => "stack",
            Self::Git { module, .. } | Self::Module(module) => &module.name,
        }
    }
}

/// A pillar; what is wrong with it is added to the errors, each text once.
fn with_errors((pillar, wrong): (Map, Vec<String>), errors: &mut Vec<String>) -> Map {
    for error in wrong {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    pillar
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// The name of the external pillar of repositories.
pub(crate) const GIT: &str = "git";

/// What external pillars may look at.
pub(crate) struct Externals<'a> {
    pub(crate) request: &'a Request,
    pub(crate) tree: &'a Tree,
    pub(crate) pillarenv: Option<&'a str>,
    pub(crate) saltenv: Option<&'a str>,
    pub(crate) opts: &'a Map,
    pub(crate) nodegroups: Option<&'a Map>,
    pub(crate) range_server: &'a RangeServer,
    pub(crate) merging: Merging,
    /// Where the external pillar `git` reads.
    pub(crate) repositories: Option<&'a dyn Repositories>,
    pub(crate) effects: &'a dyn Effects,
    /// The pillar before the first of them, where one in Python may ask for it.
    pub(crate) files: &'a Map,
}

impl Externals<'_> {
    /// What an external pillar says; nothing where Salt only logs that it
    /// could not be read. What is wrong with a part of it goes to `errors`.
    ///
    /// # Errors
    /// When its command cannot be run, its code fails, or its data is no map.
    pub(crate) fn get(
        &self,
        external: &External,
        pillar: &Map,
        errors: &mut Vec<String>,
    ) -> Result<Map, String> {
        let data = match external {
            External::CommandYaml { command } => {
                let output = self
                    .effects
                    .command(&command::named(command, &self.request.id)?, true)?;
                match halite_yaml::load(&output, "cmd_yaml") {
                    Ok(node) => node.into_value(),
                    Err(error) => {
                        // Where, but not what: the output may hold secrets.
                        let place = &error.place;
                        tracing::error!(
                            "cmd_yaml: the output is not YAML: line {}, column {}",
                            place.span.line,
                            place.span.column
                        );
                        Value::Nil
                    }
                }
            }
            External::CommandJson { command } => {
                let output = self
                    .effects
                    .command(&command::named(command, &self.request.id)?, false)?;
                match json::read(&output) {
                    Ok(data) => data,
                    Err(error) => {
                        let (line, at) = (error.line, error.column);
                        tracing::error!(
                            "cmd_json: the output is not JSON: line {line}, column {at}"
                        );
                        Value::Nil
                    }
                }
            }
            External::FileTree(tree) => return tree.read(self),
            External::Groups { key } => return Ok(groups::own_groups(self, key)),
            External::MinionData(included) => {
                return Ok(included.select(&self.request.extra_minion_data));
            }
            External::Stack(stack) => return stack.read(self, pillar),
            External::Git { nth, module } => {
                if let Some(repositories) = self.repositories {
                    let read = git::read(*nth, repositories, self);
                    return Ok(with_errors(read, errors));
                }
                self.module(module, pillar)?
            }
            External::Module(module) => match self.asked(module)? {
                Some(read) => return Ok(with_errors(read, errors)),
                None => self.module(module, pillar)?,
            },
        };
        match data {
            Value::Map(map) => Ok(map),
            data if data.is_true() => Err(format!(
                "the data is no dictionary but a {}",
                data.type_name()
            )),
            _ => Ok(Map::new()),
        }
    }

    /// The pillar of repositories that the minion asks for: those of the options are no
    /// module. `None` if a module is to be asked.
    fn asked(&self, module: &Module) -> Result<Option<(Map, Vec<String>)>, String> {
        let is_git = module.name == GIT && module.kwargs.is_empty();
        let Some(repositories) = self.repositories.filter(|_| is_git) else {
            return Ok(None);
        };
        let asked = repositories.asked(&Value::List(module.args.clone()))?;
        Ok(asked.map(|asked| git::read(0, asked.as_ref(), self)))
    }

    fn module(&self, module: &Module, pillar: &Map) -> Result<Value, String> {
        let known = Known {
            files: self.files,
            so_far: pillar,
        };
        self.effects.module(module, self.request, known)
    }
}
