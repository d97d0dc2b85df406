//! Renders the top files of the environments.

use halite_proto::{Map, Value};

use crate::compile::Compilation;
use crate::effects::Sls;
use crate::tree::Found;

impl Compilation<'_> {
    /// The environments whose top files count.
    fn top_envs(&self) -> Vec<&str> {
        match &self.pillarenv {
            Some(env) if self.tree.has_env(env) => vec![env],
            Some(env) => {
                tracing::debug!(env, "the pillarenv is not in pillar_roots");
                Vec::new()
            }
            None if self.compiler.settings.one_env => {
                let only = self.request.saltenv.as_deref().unwrap_or("base");
                let mut envs = self.tree.envs();
                envs.retain(|env| *env == only);
                envs
            }
            None => self.tree.envs(),
        }
    }

    /// The rendered top files of all environments, with those they include.
    pub(crate) fn tops(&self, errors: &mut Vec<String>) -> Vec<Value> {
        let mut tops: Vec<(&str, Vec<Value>)> = Vec::new();
        for env in self.top_envs() {
            match self.render_top(&self.compiler.settings.top, env) {
                Ok(Some(top)) => tops.push((env, vec![top])),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(
                        minion = self.request.id,
                        env,
                        "the pillar's top file failed"
                    );
                    errors.push(format!(
                        "Rendering Primary Top file failed, render error:\n{error}"
                    ));
                    break;
                }
            }
        }
        for (env, tops) in &mut tops {
            let includes = match tops.first_mut().and_then(Value::as_map_mut) {
                Some(top) => top.remove("include"),
                None => None,
            };
            let mut done: Vec<Value> = Vec::new();
            for sls in includes.iter().filter_map(Value::as_list).flatten() {
                if done.contains(sls) {
                    continue;
                }
                done.push(sls.clone());
                let name = halite_yaml::python_str(sls);
                match self.render_top_sls(&name, env) {
                    Ok(top) => tops.extend(top),
                    Err(error) => errors.push(format!(
                        "Rendering Top file {name} failed, render error:\n{error}"
                    )),
                }
            }
        }
        tops.into_iter().flat_map(|(_, tops)| tops).collect()
    }

    fn render_top(&self, path: &str, env: &str) -> Result<Option<Value>, String> {
        match self.tree.find(path, env) {
            Some(file) => self.render_file(&file, env).map(Some),
            None => Ok(None),
        }
    }

    fn render_top_sls(&self, sls: &str, env: &str) -> Result<Option<Value>, String> {
        match self.tree.find_sls(sls, env) {
            Some(file) => self.render_file(&file, env).map(Some),
            None => Ok(None),
        }
    }

    fn render_file(&self, file: &Found, env: &str) -> Result<Value, String> {
        let bytes = file.read()?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Map::new().into());
        }
        let sls = Sls {
            name: "",
            saltenv: env,
            file,
            bytes: &bytes,
            defaults: &Map::new(),
        };
        match self.effects.render(&sls, &self.request.held) {
            Ok(Value::Nil) => Ok(Map::new().into()),
            Ok(top) => Ok(top),
            Err(failure) => Err(failure.text),
        }
    }
}
