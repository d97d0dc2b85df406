//! What the state machine learns about the existing functions.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use halite_call::extensions::{ExtensionKind, Extensions};
use halite_call::host::Host;
use halite_call::{Call, Function, Registry, Unmet};
use halite_state::run::{Functions, Parameters};

/// The state functions of a registry, and the execution functions of a call.
pub(crate) struct KnownFunctions {
    registry: &'static Registry,
    /// Functions that users wrote in Python: they hide ours.
    users: Extensions,
    host: Host,
    /// Execution modules that are switched off.
    disabled: HashSet<String>,
    read: RefCell<HashMap<String, Option<Rc<Parameters>>>>,
}

impl KnownFunctions {
    /// What `call` could call.
    pub(crate) fn new(call: &Call<'_>) -> Self {
        let (registry, host) = (call.ctx.registry(), call.host());
        let switched_off = registry.modules().filter(|module| {
            let first = module.functions.first();
            !first.is_some_and(|function| call.has_function(function.name))
                && registry
                    .unmet(module.name, |program| host.has(program))
                    .is_none()
        });
        Self {
            disabled: switched_off.map(|module| module.name.to_owned()).collect(),
            registry,
            host,
            users: Extensions::of(call.ctx),
            read: RefCell::default(),
        }
    }

    /// What the machine lacks for the module of a function.
    fn unmet(&self, full: &str) -> Option<Unmet> {
        self.registry.unmet(full, |program| self.host.has(program))
    }

    /// What the machine lacks for our states of a function's module.
    fn unmet_by_states(&self, full: &str) -> Option<Unmet> {
        let brings = |module: &str| self.users.has_module(ExtensionKind::Modules, module);
        self.unmet(full)
            .filter(|unmet| unmet.refuses_states(brings))
    }

    /// Whether a state function is refused for what the machine lacks.
    fn is_refused(&self, full: &str) -> bool {
        self.unmet_by_states(full).is_some()
            && self.users.get(ExtensionKind::States, full).is_none()
    }

    fn state_function(&self, full: &str) -> Option<&'static Function> {
        self.users
            .get(ExtensionKind::States, full)
            .or_else(|| self.registry.state(full))
            .or_else(|| {
                let ours = is_ours_to_answer(self.registry, full);
                (!ours).then(|| self.users.of_salt(ExtensionKind::States, full))?
            })
    }
}

/// Whether an installed Salt is not to be asked for `full`: what serves a run
/// (`mod_init`, `mod_watch`, ...) goes with the module, and a module of ours
/// has all it has. Each state of a run asks for these.
pub(crate) fn is_ours_to_answer(registry: &Registry, full: &str) -> bool {
    full.split_once('.').is_some_and(|(module, function)| {
        function.starts_with("mod_") && registry.state_module(module).is_some()
    })
}

impl Functions for KnownFunctions {
    fn state(&self, full: &str) -> Option<Rc<Parameters>> {
        if self.is_refused(full) {
            return None;
        }
        if let Some(known) = self.read.borrow().get(full) {
            return known.clone();
        }
        let read = self.state_function(full).and_then(parameters).map(Rc::new);
        self.read.borrow_mut().insert(full.to_owned(), read.clone());
        read
    }

    fn has_state(&self, full: &str) -> bool {
        !self.is_refused(full) && self.state_function(full).is_some()
    }

    fn has_execution(&self, fun: &str) -> bool {
        let module = fun.split('.').next().unwrap_or_default();
        let own = self.registry.get(fun).is_some() && self.unmet(fun).is_none();
        let exists = own || self.users.get(ExtensionKind::Modules, fun).is_some();
        exists && !self.disabled.contains(module)
    }

    fn why_missing(&self, full: &str) -> String {
        let unmet = || {
            let ours = self.registry.state(full);
            let unmet = ours.and_then(|_| self.unmet_by_states(full));
            unmet.map(|unmet| unmet.of_states())
        };
        let why = self
            .users
            .why_missing(ExtensionKind::States, full)
            .or_else(unmet);
        why.unwrap_or_else(|| format!("'{full}' is not available."))
    }
}

/// The parameters of a state function as the machine wants them.
fn parameters(function: &Function) -> Option<Parameters> {
    let signature = function.parse_signature().ok()?;
    let mut parameters = Parameters {
        any: signature.kwargs.is_some(),
        ..Parameters::default()
    };
    for param in signature.params {
        if param.default.is_none() {
            parameters.required.push(param.name);
        } else {
            parameters.optional.push(param.name);
        }
    }
    parameters
        .optional
        .extend(signature.keyword_only.into_iter().map(|param| param.name));
    Some(parameters)
}
