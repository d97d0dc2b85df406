//! `pkg.group_installed`.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use crate::pkg::dnf;
use crate::pkg::provider::Listing;
use crate::pkg::this_machine::provider;

pub(super) fn group_installed(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let state = StateReturn::of(call);
    if provider.name() != "dnf" {
        return Ok(state
            .failed("pkg.group_install not available for this platform")
            .into());
    }
    let name = call.text("name");
    for list in ["skip", "include"] {
        if !matches!(call.arg(list), Value::Nil | Value::List(_)) {
            return Ok(state
                .failed(format!("{list} must be formatted as a list"))
                .into());
        }
    }
    let mut arguments = call.clean_kwargs();
    let members = match dnf::groups::members(call, &name, &arguments) {
        Ok(members) => members,
        Err(error) => {
            return Ok(state
                .failed(format!(
                    "An error was encountered while installing/updating group '{name}': {error}."
                ))
                .into());
        }
    };
    let current = provider.list(call, Listing::Installed)?;
    let (skip, include) = (
        python::texts(call.arg("skip")),
        python::texts(call.arg("include")),
    );
    let plan = match GroupPlan::decide(&members, &current, &skip, include) {
        Ok(plan) => plan,
        Err(wrong) => return Ok(state.failed(wrong).into()),
    };
    if plan.targets.is_empty() {
        return Ok(state
            .ok(format!("Group '{name}' is already installed"))
            .into());
    }
    if call.is_test() {
        let what = if plan.is_update {
            "is partially installed and will be updated"
        } else {
            "will be installed"
        };
        return Ok(state.pending(format!("Group '{name}' {what}")).into());
    }
    arguments.insert("pkgs", plan.targets_as_value());
    let mut state = state;
    match provider.install(call, &arguments) {
        Ok(changes) => state.changes = changes,
        Err(error) => {
            let doing = format!("installing/updating group '{name}'");
            return Ok(error.fail(state, &doing).into());
        }
    }
    let current = provider.list(call, Listing::Installed)?;
    Ok(plan.report(state, &name, &current).into())
}

/// Which packages of a group are installed.
struct GroupPlan {
    targets: Vec<String>,
    /// Those of them without which the state fails.
    required: Vec<String>,
    /// Whether some of the group are there already.
    is_update: bool,
}

impl GroupPlan {
    /// The plan for a group with these members by kind, or what is wrong with
    /// the packages to `skip`.
    fn decide(
        members: &[Vec<String>; 4],
        current: &Map,
        skip: &[String],
        include: Vec<String>,
    ) -> Result<Self, String> {
        let [mandatory, optional, default, _] = members;
        let bad: Vec<&str> = mandatory
            .iter()
            .filter(|name| skip.contains(name))
            .map(String::as_str)
            .collect();
        if !bad.is_empty() {
            return Err(format!(
                "The following mandatory packages cannot be skipped: {}",
                bad.join(", ")
            ));
        }
        let is_there = |name: &String| current.contains_key(name);
        let missing = |names: &[String]| -> Vec<String> {
            let missing = names.iter().filter(|name| !is_there(name));
            missing.cloned().collect()
        };
        let mut required = missing(mandatory);
        let mut targets = required.clone();
        let mut usual = missing(default);
        usual.retain(|name| !skip.contains(name));
        targets.extend(usual);
        targets.extend(include.iter().cloned());
        required.extend(include);
        Ok(Self {
            targets,
            required,
            is_update: [mandatory, optional, default]
                .iter()
                .any(|kind| kind.iter().any(is_there)),
        })
    }

    fn targets_as_value(&self) -> Value {
        Value::List(
            self.targets
                .iter()
                .map(|name| name.as_str().into())
                .collect(),
        )
    }

    /// What has come of the plan for the group `name`.
    fn report(self, state: StateReturn, name: &str, current: &Map) -> StateReturn {
        let mut failed = self.required;
        failed.retain(|name| !current.contains_key(name));
        if !failed.is_empty() {
            return state.failed(format!(
                "Failed to install the following packages: {}",
                failed.join(", ")
            ));
        }
        let done = if self.is_update {
            "updated"
        } else {
            "installed"
        };
        state.ok(format!("Group '{name}' was {done}"))
    }
}
