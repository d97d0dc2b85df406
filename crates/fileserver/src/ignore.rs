//! Files hidden from minions: `file_ignore_regex` and `file_ignore_glob`.

use halite_target::glob::Glob;
use halite_target::pcre::Pcre;
use tracing::warn;

use crate::OptionsError;

/// Patterns, any of which hides a path.
#[derive(Debug, Default)]
pub(crate) struct Ignore {
    regexes: Vec<Pcre>,
    globs: Vec<Glob>,
}

impl Ignore {
    pub(crate) fn new(regexes: &[String], globs: &[String]) -> Result<Self, OptionsError> {
        let regexes = regexes
            .iter()
            .map(|pattern| {
                Pcre::searching(pattern).map_err(|source| OptionsError::IgnoreRegex {
                    pattern: pattern.clone(),
                    source,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            regexes,
            globs: globs.iter().map(|glob| Glob::new(glob)).collect(),
        })
    }

    pub(crate) fn hides(&self, path: &str) -> bool {
        self.regexes.iter().any(|regex| match regex.is_in(path) {
            Ok(hides) => hides,
            Err(error) => {
                // Rather hidden than shown by a pattern that takes too long.
                warn!(%error, path, "file_ignore_regex: a pattern was too expensive to match");
                true
            }
        }) || self.globs.iter().any(|glob| glob.matches(path))
    }
}
