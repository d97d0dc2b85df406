//! `include`: other SLS, by name, relative, by a pattern, or in another
//! environment.

use halite_proto::{Map, Value};

use super::Compiler;
use super::render::{INCLUDE_DEPTH_MAX, Pass, merge};
use crate::high::is_private;
use crate::mistake::{About, Mistake};
use crate::text::ordered_str;

/// The environment that stands for "whichever of those that are wanted".
const ANY_ENV: &str = "_xenv";

/// The SLS that includes.
pub(super) struct Including<'a> {
    pub(super) sls: &'a str,
    pub(super) env: &'a str,
    pub(super) is_init: bool,
}

impl Compiler<'_> {
    /// Renders what one entry of `include` means into `state`.
    pub(super) fn include(
        &self,
        pass: &mut Pass<'_>,
        including: &Including<'_>,
        entry: Value,
        state: &mut Map,
        errors: &mut Vec<Mistake>,
    ) {
        let (env, sls) = match entry {
            Value::Map(entry) => match entry.into_iter().next_back() {
                Some((env, sls)) => (ordered_str(&env), ordered_str(&sls)),
                None => return,
            },
            sls => (including.env.to_owned(), ordered_str(&sls)),
        };
        let about = including.entry(&sls);
        // `_xenv` is no environment; Salt takes it for one here and refuses
        // it unless one of that name is served.
        if !self.avail.has(&env) && !self.avail.has("__env__") && env != ANY_ENV {
            let text = format!(
                "Nonexistent saltenv '{env}' found in include of '{sls}' within SLS '{}:{}'",
                including.env, including.sls
            );
            errors.push(Mistake::new(text).about(about));
            return;
        }
        let sls = match including.absolute(&sls) {
            Ok(sls) => sls,
            Err(text) => {
                errors.push(Mistake::new(text).about(about));
                return;
            }
        };
        let envs = self.envs_of(pass, &env, &sls);
        let chosen = match envs.as_slice() {
            [one] => one.as_str(),
            several if several.iter().any(|env| env == including.env) => including.env,
            several => {
                let text = unresolved(pass, &env, &sls, several);
                errors.push(Mistake::new(text).about(about));
                return;
            }
        };
        let mut names = self.avail.matching(including.env, &sls);
        if names.is_empty() {
            names.push(sls);
        }
        for name in names {
            if !pass.done.contains(&format!("{chosen}:{name}")) {
                let mut own = Vec::new();
                self.include_one(pass, including, &name, chosen, state, &mut own);
                // What cannot be found is told where it is asked for.
                errors.extend(own.into_iter().map(|error| match error.parts() {
                    [] => error.about(about.clone()),
                    _ => error,
                }));
            }
        }
    }

    fn include_one(
        &self,
        pass: &mut Pass<'_>,
        including: &Including<'_>,
        name: &str,
        env: &str,
        state: &mut Map,
        errors: &mut Vec<Mistake>,
    ) {
        if pass.depth >= INCLUDE_DEPTH_MAX {
            let text = format!(
                "SLS '{env}:{name}' is included by SLS '{}:{}' through {INCLUDE_DEPTH_MAX} others, which is too deep",
                including.env, including.sls
            );
            errors.push(text.into());
            return;
        }
        pass.depth += 1;
        let (included, more) = self.render_sls(pass, name, env);
        pass.depth -= 1;
        if let Some(Value::Map(mut included)) = included {
            for (id, body) in &mut included {
                if let Value::Map(body) = body
                    && !is_private(id)
                {
                    let from = body
                        .get_or_insert_with("__sls_included_from__", || Value::List(Vec::new()));
                    if let Value::List(from) = from {
                        from.push(including.sls.into());
                    }
                }
            }
            merge(state, Value::Map(included), errors);
        }
        errors.extend(more);
    }

    /// The environments in which an included SLS may be meant.
    fn envs_of(&self, pass: &Pass<'_>, env: &str, sls: &str) -> Vec<String> {
        let has = |env: &str| !self.avail.matching(env, sls).is_empty();
        if env != ANY_ENV {
            let wanted = pass.matches.contains_key(env) || has(env);
            return wanted.then(|| env.to_owned()).into_iter().collect();
        }
        let envs = pass.matches.keys().filter_map(Value::as_str);
        envs.filter(|env| has(env)).map(str::to_owned).collect()
    }
}

impl Including<'_> {
    /// An entry of its `include`.
    fn entry(&self, sls: &str) -> About {
        About::sls(self.env, self.sls, ["include".into(), sls.into()])
    }

    /// The name of an SLS that may start with dots: one dot is the directory
    /// of the including file, each further one the directory above.
    fn absolute(&self, sls: &str) -> Result<String, String> {
        let rest = sls.trim_start_matches('.');
        let levels = sls.len() - rest.len();
        if levels == 0 {
            return Ok(sls.to_owned());
        }
        let mut parts: Vec<&str> = self.sls.split('.').collect();
        if self.is_init {
            parts.push("init");
        }
        let Some(kept) = parts.len().checked_sub(levels) else {
            return Err(format!(
                "Attempted relative include of '{sls}' within SLS '{}:{}' goes beyond top level package ",
                self.env, self.sls
            ));
        };
        parts.truncate(kept);
        parts.push(rest);
        Ok(parts.join("."))
    }
}

fn unresolved(pass: &Pass<'_>, env: &str, sls: &str, found: &[String]) -> String {
    if found.is_empty() {
        let envs = if env == ANY_ENV {
            let envs: Vec<_> = pass.matches.keys().map(ordered_str).collect();
            envs.join(", ")
        } else {
            env.to_owned()
        };
        format!(
            "Unknown include: Specified SLS {env}: {sls} is not available on the salt master in saltenv(s): {envs} "
        )
    } else {
        format!(
            "Ambiguous include: Specified SLS {env}: {sls} is available on the salt master in multiple available saltenvs: {}",
            found.join(", ")
        )
    }
}
