//! States of Ruby's packages.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::gem::satisfies;

pub(crate) const MODULE: Module = Module {
    name: "gem",
    functions: &[
        Function::new(
            "gem.installed",
            "(name, ruby=None, gem_bin=None, user=None, version=None, rdoc=False, ri=False, pre_releases=False, proxy=None, source=None)",
            installed,
            "A gem is there: any version, that one, or one that meets a condition as >= 1.2.",
        ),
        Function::new(
            "gem.removed",
            "(name, ruby=None, user=None, gem_bin=None)",
            removed,
            "A gem is not there.",
        ),
        Function::new(
            "gem.sources_add",
            "(name, ruby=None, user=None)",
            |call| source(call, true),
            "Gems may come from this place.",
        ),
        Function::new(
            "gem.sources_remove",
            "(name, ruby=None, user=None)",
            |call| source(call, false),
            "Gems do not come from this place.",
        ),
    ],
};

/// The arguments that functions have under the same names, and `user` as `runas`.
fn common(call: &Call<'_>) -> Map {
    let named = [("ruby", "ruby"), ("user", "runas"), ("gem_bin", "gem_bin")];
    named
        .into_iter()
        .filter_map(|(ours, theirs)| Some((theirs, call.get(ours)?.clone())))
        .collect()
}

/// The versions of the gem that are there; none if it is not.
fn there(call: &Call<'_>) -> Result<Option<Vec<String>>, CallError> {
    let name = call.text("name");
    let gems = call.salt("gem.list", &[name.as_str().into()], common(call))?;
    Ok(gems.get(&name).map(python::texts))
}

fn installed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let wanted = call.text_given("version");
    if let Some(there) = there(call)? {
        match &wanted {
            Some(wanted) if !there.contains(wanted) => {
                if satisfies(&there, wanted) {
                    return Ok(state.ok("Installed Gem meets version requirements.").into());
                }
            }
            _ => return Ok(state.ok("Gem is already installed.").into()),
        }
    }
    if call.is_test() {
        let comment = format!("The gem {name} would have been installed");
        return Ok(state.pending(comment).into());
    }
    let mut kwargs = common(call);
    for argument in ["version", "rdoc", "ri", "pre_releases", "proxy", "source"] {
        kwargs.insert(argument, call.arg(argument).clone());
    }
    call.salt("gem.install", &[name.as_str().into()], kwargs)?;
    let state = state.ok("Gem was successfully installed");
    Ok(state.change(name, "Installed").into())
}

fn removed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if there(call)?.is_none() {
        return Ok(state.ok("Gem is not installed.").into());
    }
    if call.is_test() {
        let comment = format!("The gem {name} would have been removed");
        return Ok(state.pending(comment).into());
    }
    call.salt("gem.uninstall", &[name.as_str().into()], common(call))?;
    let state = state.ok("Gem was successfully removed.");
    Ok(state.change(name, "Removed").into())
}

fn source(call: &Call<'_>, wanted: bool) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let sources = python::texts(&call.salt("gem.sources_list", &[], common(call))?);
    let (done, word) = if wanted {
        ("added", "Installed")
    } else {
        ("removed", "Removed")
    };
    if sources.contains(&name) == wanted {
        return Ok(state.ok(format!("Gem source is already {done}.")).into());
    }
    if call.is_test() {
        let which = if wanted {
            format!(" {name}")
        } else {
            String::new()
        };
        let comment = format!("The gem source{which} would have been {done}.");
        return Ok(state.pending(comment).into());
    }
    let function = if wanted {
        "gem.sources_add"
    } else {
        "gem.sources_remove"
    };
    call.salt(function, &[Value::from(name.as_str())], common(call))?;
    let state = state.ok(format!("Gem source was successfully {done}."));
    Ok(state.change(name, word).into())
}
