//! The programs that modules need: without them none of a module's functions works.
//! Such a module is not available, as with Salt.
//!
//! Invariant: programs are looked up whenever a function is, so that a state run
//! can install what its later states need.

/// What the modules of one name need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The module, of execution functions and of states.
    pub module: &'static str,
    /// Programs that all have to be there.
    pub programs: &'static [&'static str],
    /// Why the state module is not available, in Salt's words; empty for those
    /// that Salt has for most modules.
    pub states_say: &'static str,
}

impl Requirement {
    /// A module whose states say what most say.
    pub const fn new(module: &'static str, programs: &'static [&'static str]) -> Self {
        Self {
            module,
            programs,
            states_say: "",
        }
    }

    /// The same with other words for the states.
    pub const fn states_say(mut self, words: &'static str) -> Self {
        self.states_say = words;
        self
    }

    /// What a machine lacks of it that has the programs of which `has` says so.
    pub(crate) fn unmet(&self, has: impl Fn(&str) -> bool) -> Option<Unmet> {
        let mut programs = self.programs.iter();
        programs.find(|program| !has(program)).map(|program| Unmet {
            requirement: *self,
            program,
        })
    }
}

/// A requirement that a machine does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmet {
    requirement: Requirement,
    program: &'static str,
}

impl Unmet {
    /// Why the execution functions are not available.
    pub fn of_functions(&self) -> String {
        self.refusal(&format!("{} command not found", self.program))
    }

    /// Whether the states are not available either. Most look for the functions
    /// of their execution module, which one of users' own may have; `brings` says
    /// whether there is such a module.
    pub fn refuses_states(&self, brings: impl FnOnce(&str) -> bool) -> bool {
        !self.requirement.states_say.is_empty() || !brings(self.requirement.module)
    }

    /// Why the states are not available.
    pub fn of_states(&self) -> String {
        match self.requirement.states_say {
            "" => self.refusal(&format!(
                "{} module could not be loaded",
                self.requirement.module
            )),
            words => self.refusal(words),
        }
    }

    fn refusal(&self, why: &str) -> String {
        format!(
            "'{}' __virtual__ returned False: {why}",
            self.requirement.module
        )
    }
}
