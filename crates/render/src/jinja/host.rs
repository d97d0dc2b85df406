//! What templates get from the context.

use std::path::{Component, Path, PathBuf};

use halite_crypto::{HashType, Hasher};
use halite_jinja::{Error, Host, LoadRequest, LoadedSource, Result, Returned, Settings};
use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, FlowStyle};

use super::{Job, Templates};
use crate::filters;
use crate::limits::TEXT_BYTES_MAX;
use crate::render_context::{ContextFile, RenderContext, RenderContextError};

/// The context as one render sees it.
pub(crate) struct SaltHost<'a> {
    ctx: &'a dyn RenderContext,
    templates: &'a Templates,
    settings: &'a Settings,
    key: u64,
    saltenv: Option<&'a str>,
    path: Option<&'a Path>,
}

impl<'a> SaltHost<'a> {
    pub(crate) fn new(
        job: &Job<'a>,
        ctx: &'a dyn RenderContext,
        templates: &'a Templates,
        settings: &'a Settings,
        key: u64,
    ) -> Self {
        Self {
            ctx,
            templates,
            settings,
            key,
            saltenv: job.saltenv,
            path: job.path,
        }
    }

    fn file(&self, path: &str) -> Result<Option<ContextFile>> {
        match self.saltenv {
            Some(saltenv) => self
                .ctx
                .file(path, saltenv)
                .map_err(RenderContextError::in_template),
            None => Ok(self.beside(path)),
        }
    }

    /// A file in the directory of the template, which is of no environment.
    fn beside(&self, path: &str) -> Option<ContextFile> {
        let relative = Path::new(path);
        let stays = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let path = self.path?.parent()?.join(relative);
        let bytes = stays.then(|| std::fs::read(&path).ok())??;
        Some(ContextFile {
            path,
            bytes: bytes.into(),
        })
    }
}

/// Where a template's name leads: below the roots, or beside the importing
/// file. Nothing if it leads out.
fn resolve(request: &LoadRequest<'_>) -> Option<(String, bool)> {
    let first = request.name.split('/').next();
    if !matches!(first, Some("." | "..")) {
        return Some((request.name.to_owned(), false));
    }
    let Some(tpldir) = request.tpldir else {
        tracing::warn!(
            "Relative path \"{}\" cannot be resolved without an environment",
            request.name
        );
        return None;
    };
    let mut path = PathBuf::new();
    for part in Path::new(tpldir).join(request.name).components() {
        match part {
            Component::ParentDir if !path.pop() => {
                tracing::warn!(
                    "Discarded template path \"{}\": attempts to ascend outside of salt://",
                    request.name
                );
                return None;
            }
            Component::Normal(part) => path.push(part),
            _ => {}
        }
    }
    Some((path.to_str()?.to_owned(), true))
}

/// `tplfile`, `tpldir` and `tpldot` after a template was loaded.
fn globals(request: &LoadRequest<'_>, path: &str, is_relative: bool) -> Vec<(String, Value)> {
    let (file, dir) = if is_relative {
        (request.name, request.tpldir.unwrap_or_default())
    } else {
        (path, path.rsplit_once('/').map_or("", |(dir, _)| dir))
    };
    let shown = if dir.is_empty() { "." } else { dir };
    vec![
        ("tplfile".to_owned(), file.into()),
        ("tpldir".to_owned(), shown.into()),
        ("tpldot".to_owned(), dir.replace('/', ".").into()),
    ]
}

impl Host for SaltHost<'_> {
    fn load(&self, request: LoadRequest<'_>) -> Result<Option<LoadedSource>> {
        let Some((path, is_relative)) = resolve(&request) else {
            return Ok(None);
        };
        let Some(file) = self.file(&path)? else {
            return Ok(None);
        };
        if file.bytes.len() > TEXT_BYTES_MAX {
            let message = format!("{path} has more than {TEXT_BYTES_MAX} bytes");
            return Err(Error::foreign(message));
        }
        let name = file.path.display().to_string();
        let text = std::str::from_utf8(&file.bytes).map_err(|error| {
            let at = error.valid_up_to();
            let byte = file.bytes.get(at).copied().unwrap_or_default();
            Error::foreign(format!(
                "'utf-8' codec can't decode byte {byte:#04x} in position {at}: invalid start byte"
            ))
        })?;
        // Text that is no template is left to the engine, which knows who
        // asked for it.
        let template = self.templates.parse(self.settings, self.key, &name, text);
        let template = template.ok();
        Ok(Some(LoadedSource {
            text: match template {
                Some(_) => String::new(),
                None => text.to_owned(),
            },
            name,
            globals: globals(&request, &path, is_relative),
            template,
        }))
    }

    fn has_function(&self, name: &str) -> bool {
        self.ctx.has_function(name)
    }

    fn has_module(&self, name: &str) -> bool {
        self.ctx.has_module(name)
    }

    fn call(&self, name: &str, args: &mut Vec<Value>, kwargs: &mut Map) -> Result<Returned> {
        self.ctx
            .call(name, args, kwargs)
            .map_err(RenderContextError::in_template)
    }

    fn filter(&self, name: &str, args: &mut Vec<Value>, kwargs: &mut Map) -> Result<Value> {
        filters::apply(self.ctx, name, args, kwargs)
    }

    fn decode_yaml(&self, text: &str) -> Result<Value> {
        halite_yaml::load(text, "text")
            .map(halite_yaml::Node::into_value)
            .map_err(|error| {
                Error::runtime(format!(
                    "Encountered error loading yaml: {}",
                    error.python_text()
                ))
            })
    }

    fn encode_yaml(&self, data: &Value, flow: bool) -> Result<String> {
        let flow = if flow {
            FlowStyle::Flow
        } else {
            FlowStyle::Block
        };
        let options = DumpOptions {
            flow,
            ..DumpOptions::default()
        };
        Ok(halite_yaml::dump(data, options))
    }

    fn digest(&self, algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let hash_type = HashType::parse(algorithm).ok()?;
        let mut hasher = Hasher::new(hash_type);
        hasher.update(bytes);
        from_hex(&hasher.finish_hex())
    }
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(name: &str, tpldir: &str) -> Option<String> {
        let tpldir = Some(tpldir);
        resolve(&LoadRequest { name, tpldir }).map(|(path, _)| path)
    }

    #[test]
    fn relative_names_stay_below_the_roots() {
        assert_eq!(resolved("./m.jinja", "a/b").as_deref(), Some("a/b/m.jinja"));
        assert_eq!(resolved("../m.jinja", "a/b").as_deref(), Some("a/m.jinja"));
        assert_eq!(resolved("./m.jinja", ".").as_deref(), Some("m.jinja"));
        assert_eq!(resolved("../m.jinja", "."), None);
        assert_eq!(resolved("x/m.jinja", "a").as_deref(), Some("x/m.jinja"));
    }
}
