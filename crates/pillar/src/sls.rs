//! The SLS of one environment: renders them with their includes.
//!
//! Mirrors `render_pstate` of `salt/pillar/__init__.py` (3008.5), with its
//! oddities: an include that is found under its plain name is read twice, so its
//! errors are reported twice; `defaults` of one include apply to those after it; a
//! file that was rendered before comes without its includes.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use halite_proto::{Map, Value};
use halite_target::glob;

use crate::effects::{Effects, Failure, Sls};
use crate::limits::{ERRORS_MAX, INCLUDE_DEPTH_MAX, INCLUDE_DEPTH_OF_PAIRS_MAX};
use crate::merge::Strategy;
use crate::settings::Settings;
use crate::top::Top;
use crate::tree::{Found, Ignore, Tree};

/// What the rendering of one compilation shares.
pub(crate) struct Rendering<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) tree: &'a Tree,
    pub(crate) ignore: &'a Ignore,
    pub(crate) effects: &'a dyn Effects,
    pub(crate) top: &'a Top,
    /// What the files see as the pillar.
    pub(crate) pillar: Arc<Map>,
}

/// One environment while it is rendered.
pub(crate) struct Env<'a, 'r> {
    rendering: &'r Rendering<'a>,
    name: &'r str,
    names: OnceCell<Vec<String>>,
    /// The files that were rendered, without what they include.
    done: HashMap<String, Arc<Value>>,
}

/// What came of an SLS: nothing, if it is not there, and the errors.
type Outcome = (Option<Arc<Value>>, Vec<String>);

impl<'a, 'r> Env<'a, 'r> {
    pub(crate) fn new(rendering: &'r Rendering<'a>, name: &'r str) -> Self {
        Self {
            rendering,
            name,
            names: OnceCell::new(),
            done: HashMap::new(),
        }
    }

    /// The SLS that a name of a top file means: itself, or what it matches.
    pub(crate) fn expand(&self, sls: &str) -> Vec<String> {
        let matches = self.filter(sls);
        if matches.is_empty() {
            vec![sls.to_owned()]
        } else {
            matches
        }
    }

    /// The known SLS that a pattern matches.
    fn filter(&self, pattern: &str) -> Vec<String> {
        if !glob::is_glob(pattern) {
            // No need to list everything.
            let found = self.rendering.tree.find_sls(pattern, self.name);
            return found.map(|_| pattern.to_owned()).into_iter().collect();
        }
        let names = self.names.get_or_init(|| {
            let rendering = self.rendering;
            rendering.tree.list(self.name, rendering.ignore)
        });
        let names = names.iter().map(String::as_str);
        let found = glob::filter(pattern, names).into_iter();
        found.map(str::to_owned).collect()
    }

    /// Renders an SLS of the top file.
    pub(crate) fn render(&mut self, sls: &str) -> Outcome {
        self.render_with(sls, Map::new(), 0)
    }

    fn render_with(&mut self, sls: &str, defaults: Map, depth: usize) -> Outcome {
        let mut errors = Vec::new();
        let depth_max = match self.rendering.settings.merging.strategy {
            Strategy::Pairs => INCLUDE_DEPTH_OF_PAIRS_MAX,
            _ => INCLUDE_DEPTH_MAX,
        };
        if depth > depth_max {
            errors.push(format!(
                "SLS '{sls}' is included through more than {depth_max} others"
            ));
            return (None, errors);
        }
        let file = self.rendering.tree.find_sls(sls, self.name);
        let data = match &file {
            Some(file) => self.render_file(sls, file, &defaults, &mut errors),
            None => match self.missing(sls) {
                Some(error) => {
                    errors.push(error);
                    Map::new().into()
                }
                None => return (None, errors),
            },
        };
        let Value::Map(mut own) = data else {
            if data.is_true() {
                errors.push(format!("SLS '{sls}' does not render to a dictionary"));
            }
            let data = Arc::new(data);
            self.done.insert(sls.to_owned(), Arc::clone(&data));
            return (Some(data), errors);
        };
        let includes = match own.get("include") {
            Some(Value::List(_)) => match own.remove("include") {
                Some(Value::List(includes)) => includes,
                _ => Vec::new(),
            },
            Some(_) => {
                errors.push(format!(
                    "Include Declaration in SLS '{sls}' is not formed as a list"
                ));
                Vec::new()
            }
            None => Vec::new(),
        };
        let own = Arc::new(Value::Map(own));
        self.done.insert(sls.to_owned(), Arc::clone(&own));
        if includes.is_empty() {
            return (Some(own), errors);
        }
        let is_init = file.is_some_and(|file| is_init(&file));
        let included = self.included(sls, is_init, includes, defaults, depth, &mut errors);
        (Some(Arc::new(self.laid_together(own, included))), errors)
    }

    fn render_file(
        &self,
        sls: &str,
        file: &Found,
        defaults: &Map,
        errors: &mut Vec<String>,
    ) -> Value {
        let rendering = self.rendering;
        let read = file.read().map_err(Failure::from);
        let rendered = read.and_then(|bytes| {
            if bytes.trim_ascii().is_empty() {
                return Ok(Map::new().into());
            }
            let sls = Sls {
                name: sls,
                saltenv: self.name,
                file,
                bytes: &bytes,
                defaults,
            };
            rendering.effects.render(&sls, &rendering.pillar)
        });
        match rendered {
            Ok(data) => data,
            Err(failure) => {
                let known = || file.path.display().to_string();
                let place = failure.place.unwrap_or_else(known);
                let error = failure.text;
                // The error may quote the file, and the file may hold secrets:
                // only those who said so see more than where it is.
                if rendering.settings.safe_errors {
                    tracing::error!(
                        sls,
                        place,
                        "a pillar file could not be rendered: {}",
                        headline(&error)
                    );
                    errors.push(format!(
                        "Rendering SLS '{sls}' failed. Please see master log for details."
                    ));
                } else {
                    tracing::error!(sls, place, "a pillar file could not be rendered: {error}");
                    errors.push(format!(
                        "Rendering SLS '{sls}' failed, render error:\n{error}"
                    ));
                }
                Value::Nil
            }
        }
    }

    /// What is wrong with an SLS that is not there, if anything is.
    fn missing(&self, sls: &str) -> Option<String> {
        let env = self.name;
        if self.rendering.top.is_optional(sls, env) {
            return None;
        }
        if self.rendering.tree.roots(env).is_empty() {
            tracing::debug!(sls, env, "no such SLS: the environment has no pillar_roots");
            return None;
        }
        Some(format!(
            "Specified SLS '{sls}' in environment '{env}' is not available on the salt master"
        ))
    }

    /// Renders what an SLS includes.
    fn included(
        &mut self,
        sls: &str,
        is_init: bool,
        includes: Vec<Value>,
        mut defaults: Map,
        depth: usize,
        errors: &mut Vec<String>,
    ) -> Vec<Map> {
        let mut included = Vec::new();
        let mut last_errors = Vec::new();
        for include in includes {
            let mut key = None;
            let name = match include {
                Value::Map(map) => match map.into_iter().next() {
                    Some((Value::Str(name), Value::Map(mut said))) => {
                        defaults = match said.remove("defaults") {
                            Some(Value::Map(defaults)) => defaults,
                            _ => Map::new(),
                        };
                        key = said.remove("key").filter(Value::is_true);
                        name
                    }
                    _ => {
                        errors.push(bad_include(sls));
                        continue;
                    }
                },
                Value::Str(name) => name,
                _ => {
                    errors.push(bad_include(sls));
                    continue;
                }
            };
            for name in self.meant(sls, is_init, &name) {
                let data = match self.done.get(&name) {
                    Some(done) => Some(Arc::clone(done)),
                    None => {
                        let (data, new) = self.render_with(&name, defaults.clone(), depth + 1);
                        last_errors = new;
                        data
                    }
                };
                if let Some(Value::Map(data)) = data.as_deref()
                    && !data.is_empty()
                {
                    included.push(under_key(data.clone(), key.as_ref()));
                }
                let room = ERRORS_MAX.saturating_sub(errors.len());
                errors.extend(last_errors.iter().take(room).cloned());
            }
        }
        included
    }

    /// The SLS that an include means.
    fn meant(&self, sls: &str, is_init: bool, include: &str) -> Vec<String> {
        let plain = include.trim_start_matches('.').replace('/', ".");
        let mut meant = self.filter(&plain);
        let full = match include.strip_prefix('.') {
            Some(rest) => match (is_init, sls.rsplit_once('.')) {
                (true, _) => format!("{sls}.{rest}"),
                (false, Some((parent, _))) => format!("{parent}.{rest}"),
                (false, None) => rest.to_owned(),
            },
            None => include.to_owned(),
        };
        meant.extend(self.filter(&full));
        if meant.is_empty() {
            meant.push(full);
        }
        meant
    }

    fn laid_together(&self, own: Arc<Value>, included: Vec<Map>) -> Value {
        let settings = self.rendering.settings;
        let own = match Arc::unwrap_or_clone(own) {
            Value::Map(own) => own,
            _ => Map::new(),
        };
        let mut layers = if settings.includes_override {
            let mut layers = vec![own];
            layers.extend(included);
            layers
        } else {
            let mut layers = included;
            layers.push(own);
            layers
        }
        .into_iter();
        let first = layers.next().unwrap_or_default();
        layers
            .fold(first, |under, over| settings.merging.merge(under, &over))
            .into()
    }
}

fn is_init(file: &Found) -> bool {
    file.rel == "init.sls" || file.rel.ends_with("/init.sls")
}

fn bad_include(sls: &str) -> String {
    format!("An include in SLS '{sls}' is neither a name nor a name with options")
}

/// `data` below the path `a:b`.
fn under_key(data: Map, key: Option<&Value>) -> Map {
    let Some(key) = key else { return data };
    let key = halite_yaml::python_str(key);
    key.split(':')
        .rev()
        .fold(data, |inner, part| Map::from([(part, Value::Map(inner))]))
}

/// What an error says before it quotes the file.
fn headline(error: &str) -> &str {
    error.lines().next().unwrap_or_default()
}
