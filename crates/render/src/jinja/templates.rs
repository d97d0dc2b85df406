//! Parsed templates, kept as long as their renderer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use halite_jinja::{Engine, Result, Settings, Template};

use crate::limits::TEMPLATES_MAX;

/// Templates by name, options and content.
#[derive(Default)]
pub(crate) struct Templates {
    parsed: RefCell<HashMap<(String, u64, u64), Template>>,
    hasher: RandomState,
}

impl Templates {
    /// What tells the options of a render apart.
    pub(crate) fn key(&self, settings: &Settings) -> u64 {
        self.hasher.hash_one(format!("{settings:?}"))
    }

    /// The template `text`, read now or before.
    pub(crate) fn parse(
        &self,
        settings: &Settings,
        key: u64,
        name: &str,
        text: &str,
    ) -> Result<Template> {
        let key = (name.to_owned(), key, self.hasher.hash_one(text));
        if let Some(template) = self.parsed.borrow().get(&key) {
            return Ok(template.clone());
        }
        let template = Engine::new(settings.clone()).parse(name, text)?;
        let mut parsed = self.parsed.borrow_mut();
        if parsed.len() < TEMPLATES_MAX {
            parsed.insert(key, template.clone());
        }
        Ok(template)
    }
}
