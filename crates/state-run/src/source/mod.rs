//! Answers the compiler's requests within a running call: files through the file
//! client, texts through the renderers, targets through grains and pillar.
//!
//! Invariant: every file is asked for once per source, so that one compile sees one
//! version of the tree.

mod addresses;
mod places;
mod settings;
mod shared;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use crate::shell::is_ours_to_answer;
use halite_call::extensions::{self, ExtensionKind};
use halite_call::{Call, CallRenderContext, FileClient, python, run_plugin};
use halite_proto::{Map, Value};
use halite_range::RangeServer;
use halite_render::{ContextFile, RenderContext, RenderError, Renderer, SlsRequest};
use halite_state::{Mistake, RenderFault, Rendered, Settings, SlsSource};
use halite_target::{DEFAULT_DELIMITER, Reading, Subject, Target};

/// The paths of the SLS files of an environment.
type Paths = Rc<HashSet<String>>;

/// The source of one call. The call's context is that of the run.
pub(crate) struct Source<'c> {
    call: &'c Call<'c>,
    settings: Settings,
    render_context: &'c CallRenderContext<'c>,
    renderer: Renderer<'c>,
    paths: RefCell<HashMap<String, Paths>>,
    places: places::Places,
}

/// A text that is no file of an environment.
pub(crate) struct Written<'w> {
    /// The environment and SLS that its declarations say they are of.
    pub(crate) names: Vec<(&'w str, &'w str)>,
    /// What it is called.
    pub(crate) path: &'w Path,
    /// What it has rendered to, without the data.
    pub(crate) rendered: halite_render::Rendered,
}

/// Does something with the source of `call`.
pub(crate) fn with_source<'c, T>(call: &'c Call<'c>, run: impl FnOnce(&Source<'_>) -> T) -> T {
    let render_context = CallRenderContext::recalling(call);
    let source = Source {
        call,
        settings: settings::settings(call),
        render_context: &render_context,
        renderer: Renderer::new(&render_context),
        paths: RefCell::default(),
        places: places::Places::default(),
    };
    let done = run(&source);
    drop(source);
    render_context.keep_recall();
    done
}

impl Source<'_> {
    /// Tells where mistakes are: the log, and whoever reads the return beside
    /// its value. What the value says is Salt's words, which are given back.
    pub(crate) fn report_mistakes(&self, mistakes: Vec<Mistake>) -> Vec<String> {
        for mistake in &mistakes {
            let Some(report) = self.places.report(mistake) else {
                continue;
            };
            let report = self.with_addresses(&report);
            // The failure to render has been logged when it was met.
            if mistake.report().is_none() {
                tracing::error!("{report}");
            }
            self.call.job.notes.add(&report);
        }
        mistakes.into_iter().map(Mistake::into_text).collect()
    }

    fn with_addresses(&self, report: &str) -> String {
        addresses::with_addresses(report, &self.call.ctx.cachedir())
    }

    /// An SLS or top file that does not render: told to the log, and as the
    /// compiler takes it.
    fn fault(&self, error: &RenderError, saltenv: &str, sls: &str) -> RenderFault {
        let report = self.with_addresses(&error.report());
        tracing::error!("{saltenv}:{sls} does not render: {report}");
        RenderFault {
            words: error.to_string(),
            of_sls: error.sls_text(saltenv, sls),
            report,
            expected: error.foreign_class().is_none(),
        }
    }

    /// Takes in a text that is no file of an environment, under the names that
    /// its declarations have.
    pub(crate) fn keep(&self, written: &Written<'_>) {
        for (env, sls) in &written.names {
            let rendered = written.rendered.clone();
            self.places.keep_sls(env, sls, written.path, rendered);
        }
    }

    fn paths(&self, saltenv: &str) -> Paths {
        if let Some(paths) = self.paths.borrow().get(saltenv) {
            return Rc::clone(paths);
        }
        let files = FileClient::new(self.call.ctx).files(saltenv, "");
        let files = files.unwrap_or_else(|error| {
            tracing::error!("the files of {saltenv} cannot be listed: {error}");
            Vec::new()
        });
        let sls = files.into_iter().filter(|path| path.ends_with(".sls"));
        let paths: Paths = Rc::new(sls.collect());
        self.paths
            .borrow_mut()
            .insert(saltenv.to_owned(), Rc::clone(&paths));
        paths
    }

    /// The file of an SLS, and whether it is an `init.sls`. What is listed is
    /// asked for first.
    fn find(&self, sls: &str, saltenv: &str) -> Result<Option<(ContextFile, bool)>, RenderFault> {
        let base = sls.replace('.', "/");
        let plain = (format!("{base}.sls"), false);
        let init = (format!("{base}/init.sls"), true);
        let paths = self.paths(saltenv);
        let candidates = if paths.contains(&init.0) && !paths.contains(&plain.0) {
            [init, plain]
        } else {
            [plain, init]
        };
        for (path, is_init) in candidates {
            if let Some(file) = self.file(&path, sls, saltenv)? {
                return Ok(Some((file, is_init)));
            }
        }
        Ok(None)
    }

    fn file(&self, path: &str, sls: &str, env: &str) -> Result<Option<ContextFile>, RenderFault> {
        self.render_context
            .file(path, env)
            .map_err(|error| RenderFault {
                words: error.to_string(),
                of_sls: format!("Rendering SLS {sls} failed, render error: {error}"),
                report: error.to_string(),
                expected: false,
            })
    }
}

impl Source<'_> {
    /// Whether a matcher of users' (`_matchers`) takes this minion for meant;
    /// nothing if there is none of that name.
    fn matcher_of_users(&self, target: &Value, match_type: &str) -> Option<Result<bool, String>> {
        let name = format!("{match_type}_match.match");
        let matcher = extensions::function(self.call.ctx, ExtensionKind::Matchers, &name)?;
        let matched = run_plugin(self.call, matcher, vec![target.clone()], Map::new());
        Some(match matched {
            Ok(matched) => Ok(matched.is_true()),
            Err(error) => Err(error.to_string()),
        })
    }
}

impl SlsSource for Source<'_> {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn envs(&self) -> Vec<String> {
        match self
            .call
            .ctx
            .files()
            .ask(Map::from([("cmd", "_file_envs")]))
        {
            Ok(Value::List(envs)) => envs.iter().map(python::str).collect(),
            Ok(_) => Vec::new(),
            Err(error) => {
                tracing::error!("the environments cannot be listed: {error}");
                Vec::new()
            }
        }
    }

    fn list_states(&self, saltenv: &str) -> Vec<String> {
        let names: BTreeSet<String> = self
            .paths(saltenv)
            .iter()
            .map(|path| {
                let name = path.strip_suffix("/init.sls");
                let name = name.or_else(|| path.strip_suffix(".sls"));
                name.unwrap_or(path).replace('/', ".")
            })
            .collect();
        names.into_iter().collect()
    }

    fn top(&self, saltenv: &str) -> Result<Option<Value>, RenderFault> {
        let top = self.call.opt_text("state_top");
        let top = top.as_deref().unwrap_or("top.sls");
        let path = top.strip_prefix("salt://").unwrap_or(top);
        let Some(file) = self.file(path.trim_start_matches('/'), path, saltenv)? else {
            return Ok(None);
        };
        let request = SlsRequest::file(&file.bytes, "", saltenv, &file.path);
        match self.renderer.sls_with_places(&request) {
            Ok(mut rendered) => {
                let data = std::mem::take(&mut rendered.value);
                self.places.keep_top(&file.path, rendered);
                Ok(Some(data))
            }
            Err(error) => Err(self.fault(&error, saltenv, "top")),
        }
    }

    fn sls(&self, sls: &str, saltenv: &str) -> Result<Option<Rendered>, RenderFault> {
        let Some((file, is_init)) = self.find(sls, saltenv)? else {
            return Ok(None);
        };
        let request = SlsRequest::file(&file.bytes, sls, saltenv, &file.path);
        match self.renderer.sls_with_places(&request) {
            Ok(mut rendered) => {
                let node = rendered.has_aliases.then(|| rendered.node()).flatten();
                let shared = node.as_ref().map(shared::shared).unwrap_or_default();
                let data = std::mem::take(&mut rendered.value);
                self.places.keep_sls(saltenv, sls, &file.path, rendered);
                Ok(Some(Rendered {
                    data,
                    is_init,
                    shared,
                }))
            }
            Err(error) => Err(self.fault(&error, saltenv, sls)),
        }
    }

    fn matches(&self, target: &Value, match_type: &str) -> Result<bool, String> {
        let ctx = self.call.ctx;
        let this = This {
            id: ctx.id(),
            grains: ctx.grains(),
            pillar: ctx.pillar(),
        };
        let server = RangeServer::from_opts(ctx.opts());
        let reading = Reading {
            delimiter: DEFAULT_DELIMITER,
            nodegroups: self.call.opt("nodegroups").as_map(),
            ranges: Some(&server),
        };
        // The data store of a minion, which this one has not.
        if match_type == "data" {
            return Ok(false);
        }
        let parsed = Target::parse_with(target, match_type, &reading);
        if parsed.is_err()
            && let Some(matches) = self.matcher_of_users(target, match_type)
        {
            return matches;
        }
        let target = parsed.map_err(|error| error.render(&python::str(target)))?;
        Ok(target.matches(&this))
    }

    fn master_tops(&self) -> Map {
        let ctx = self.call.ctx;
        if ctx.is_local() {
            return Map::new();
        }
        let mut opts = ctx.opts().clone();
        opts.insert("grains", Map::clone(&ctx.grains()));
        let mut load = Map::from([("cmd", "_master_tops")]);
        load.insert("opts", opts);
        match ctx.upstream().and_then(|master| master.request(load)) {
            Ok(Value::Map(tops)) => tops,
            Ok(_) => Map::new(),
            Err(error) => {
                tracing::warn!("the master did not send its tops: {error}");
                Map::new()
            }
        }
    }

    fn has_state(&self, fun: &str) -> bool {
        let ctx = self.call.ctx;
        extensions::function(ctx, ExtensionKind::States, fun).is_some()
            || ctx.registry().state(fun).is_some()
            || (!is_ours_to_answer(ctx.registry(), fun)
                && extensions::of_salt(ctx, ExtensionKind::States, fun).is_some())
    }
}

/// This minion as targets see it.
struct This {
    id: String,
    grains: std::sync::Arc<Map>,
    pillar: std::sync::Arc<Map>,
}

impl Subject for This {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(&self.pillar)
    }
}
