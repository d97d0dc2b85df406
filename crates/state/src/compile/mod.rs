//! From top files and SLS to high data.
//!
//! A [`Compiler`] is made for one run: the numbers of `order` rise over everything
//! that it renders. The steps are those of Salt, and a caller takes as many as it
//! needs: [`Compiler::top`], [`verify_tops`], [`Compiler::matches`],
//! [`Compiler::render`], then [`crate::high`].

mod avail;
mod decls;
mod include;
mod matches;
mod render;
mod sharing;
mod tops;
mod usage;

use std::cell::{Cell, RefCell};

use halite_proto::Map;

use crate::high;
use crate::low::{Low, LowOptions};
use crate::mistake::Mistake;
use crate::source::SlsSource;

use avail::Avail;

pub use matches::{Matches, whitelisted};
pub use tops::{TopError, verify_tops};

/// The first number that a state without an `order` gets.
const FIRST_ORDER: i128 = 10_000;

/// One way from SLS to high data.
pub struct Compiler<'s> {
    source: &'s dyn SlsSource,
    avail: Avail<'s>,
    next_order: Cell<i128>,
    top_fault: RefCell<Option<String>>,
}

impl<'s> Compiler<'s> {
    /// A compiler that asks `source`.
    pub fn new(source: &'s dyn SlsSource) -> Self {
        Self {
            source,
            avail: Avail::new(source),
            next_order: Cell::new(FIRST_ORDER),
            top_fault: RefCell::new(None),
        }
    }

    /// The high data of this minion (`state.show_highstate`).
    ///
    /// # Errors
    /// When the top file makes no sense at all. Errors of what it names are
    /// the inner list.
    pub fn highstate(&self) -> Result<Result<Map, Vec<Mistake>>, TopError> {
        let top = self.top()?;
        let mut errors = verify_tops(&top);
        let (high, more) = self.render(&self.matches(&top));
        errors.extend(more);
        Ok(if errors.is_empty() {
            Ok(high)
        } else {
            Err(errors)
        })
    }

    /// The low data of this minion (`state.show_lowstate`).
    ///
    /// # Errors
    /// As [`Self::highstate`].
    pub fn lowstate(&self) -> Result<Result<Low, Vec<Mistake>>, TopError> {
        let top = self.top()?;
        let (high, errors) = self.render(&self.matches(&top));
        Ok(self.with_low_options(|options| high::compile_all(high, errors, options)))
    }

    /// The ordered chunks of high data, as a run takes them.
    ///
    /// # Errors
    /// Everything that is wrong, in Salt's words.
    pub fn low(&self, high: Map) -> Result<Low, Vec<Mistake>> {
        self.with_low_options(|options| high::compile(high, options))
    }

    /// Does something with the options for low data that the source means.
    pub fn with_low_options<T>(&self, run: impl FnOnce(&LowOptions<'_>) -> T) -> T {
        let settings = self.source.settings();
        run(&LowOptions {
            disabled_requisites: &settings.disabled_requisites,
            aggregate: &settings.state_aggregate,
            disabled_states: &settings.disabled_states,
            orchestration_jid: None,
            has_state: &|fun| self.source.has_state(fun),
        })
    }
}
