//! Which renderers process a text: its `#!` line, or the default.

use halite_proto::{Map, Value};

use crate::error::{ErrorKind, RenderError};
use crate::limits::STAGES_MAX;

/// What one stage of a pipe does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A template to text.
    Jinja,
    /// YAML to data.
    Yaml,
    /// JSON to data.
    Json,
    /// Text stays text.
    Text,
    /// Encrypted texts, wherever they are in text or data, to plain ones.
    Gpg,
    /// Python code with a function `run` to data.
    Py,
    /// Python code that declares states with objects, to data.
    PyObjects,
    /// A renderer in Python, by its name: one of users, or of the Salt that is
    /// installed.
    Module {
        /// Its name.
        name: String,
        /// Whether it is Salt's.
        of_salt: bool,
    },
}

impl Stage {
    /// The renderer of our own that is called so.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "jinja" => Self::Jinja,
            "yaml" => Self::Yaml,
            "json" => Self::Json,
            "text" => Self::Text,
            "gpg" => Self::Gpg,
            "py" => Self::Py,
            "pyobjects" => Self::PyObjects,
            _ => return None,
        })
    }

    /// The name in `#!` lines.
    pub fn name(&self) -> &str {
        match self {
            Self::Jinja => "jinja",
            Self::Yaml => "yaml",
            Self::Json => "json",
            Self::Text => "text",
            Self::Gpg => "gpg",
            Self::Py => "py",
            Self::PyObjects => "pyobjects",
            Self::Module { name, .. } => name,
        }
    }
}

/// The stages that a text goes through, with their arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipe {
    /// The stages, first to last.
    pub stages: Vec<(Stage, String)>,
}

impl Pipe {
    /// The pipe of `text`: what its `#!` line says, else `default`. A text of
    /// no file has the first word of its first line as `#!` line, as in Salt.
    ///
    /// # Errors
    /// When a renderer is not known.
    pub fn for_text(
        text: &str,
        default: &str,
        of_file: bool,
        opts: &Map,
        stage: &dyn Fn(&str) -> Option<Stage>,
    ) -> Result<Self, RenderError> {
        let line = if of_file {
            text.lines().next().unwrap_or_default()
        } else {
            text.split_whitespace().next().unwrap_or_default()
        };
        let shebang = line
            .strip_prefix("#!")
            .filter(|rest| !rest.starts_with('/'))
            .map(str::trim);
        Self::parse(shebang.unwrap_or(default), opts, stage)
    }

    /// A pipe as it is written: `jinja|yaml`. `stage` knows the renderers.
    ///
    /// # Errors
    /// When a renderer is not known.
    pub fn parse(
        written: &str,
        opts: &Map,
        stage: &dyn Fn(&str) -> Option<Stage>,
    ) -> Result<Self, RenderError> {
        let pipe = match written {
            "yaml_jinja" => "jinja|yaml",
            "json_jinja" => "jinja|json",
            other => other,
        };
        let mut stages = Vec::new();
        for part in pipe.split('|') {
            let part = part.trim();
            let (name, argline) = part.split_once(' ').unwrap_or((part, ""));
            if !is_allowed(name, opts) {
                tracing::warn!(
                    "The renderer \"{name}\" is disallowed by configuration and will be skipped."
                );
                continue;
            }
            let stage = stage(name).ok_or_else(|| unknown(written, name))?;
            if stages.len() == STAGES_MAX {
                let message = format!("a pipe of more than {STAGES_MAX} renderers: {written}");
                return Err(RenderError::new(ErrorKind::Limit, message));
            }
            stages.push((stage, argline.trim().to_owned()));
        }
        Ok(Self { stages })
    }
}

/// The renderers, for people.
const THERE_ARE: &str = "gpg, jinja, json, py, pyobjects, text, yaml";

fn unknown(written: &str, name: &str) -> RenderError {
    let message = if written == name {
        format!("The renderer \"{written}\" is not available: there are {THERE_ARE}")
    } else {
        format!(
            "The renderer \"{written}\" is not available: there is no \"{name}\", but {THERE_ARE}"
        )
    };
    RenderError::new(ErrorKind::Renderer, message)
}

/// `renderer_whitelist` and `renderer_blacklist`.
fn is_allowed(name: &str, opts: &Map) -> bool {
    let listed = |option: &str| {
        let list = opts.get(option).and_then(Value::as_list)?;
        (!list.is_empty()).then(|| list.iter().any(|item| item.as_str() == Some(name)))
    };
    listed("renderer_whitelist") != Some(false) && listed("renderer_blacklist") != Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(text: &str) -> Vec<(Stage, String)> {
        let pipe = Pipe::for_text(text, "jinja|yaml", true, &Map::new(), &Stage::parse).unwrap();
        pipe.stages
            .into_iter()
            .map(|(stage, arg)| (Stage::parse(stage.name()).unwrap(), arg))
            .collect()
    }

    #[test]
    fn the_first_line_decides() {
        let none = String::new;
        assert_eq!(
            stages("a: 1"),
            [(Stage::Jinja, none()), (Stage::Yaml, none())]
        );
        assert_eq!(
            stages("#!jinja | yaml | gpg\na"),
            [
                (Stage::Jinja, none()),
                (Stage::Yaml, none()),
                (Stage::Gpg, none())
            ]
        );
        assert_eq!(stages("#!/bin/sh\n").len(), 2);
        assert_eq!(
            stages("#!jinja -s|json\n")[0],
            (Stage::Jinja, "-s".to_owned())
        );
        assert_eq!(stages("#!yaml_jinja\n").len(), 2);
    }

    #[test]
    fn unknown_renderers_are_named() {
        let error =
            Pipe::for_text("#!mako|yaml\n", "", true, &Map::new(), &Stage::parse).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The renderer \"mako|yaml\" is not available: there is no \"mako\", but gpg, jinja, json, py, pyobjects, text, yaml"
        );
    }

    #[test]
    fn lists_of_the_configuration_leave_renderers_out() {
        let opts = Map::from([("renderer_blacklist", vec![Value::from("py")])]);
        let pipe = Pipe::parse("py|yaml", &opts, &Stage::parse).unwrap();
        assert_eq!(pipe.stages, [(Stage::Yaml, String::new())]);
        let opts = Map::from([("renderer_whitelist", vec![Value::from("yaml")])]);
        let pipe = Pipe::parse("jinja|yaml", &opts, &Stage::parse).unwrap();
        assert_eq!(pipe.stages, [(Stage::Yaml, String::new())]);
    }
}
