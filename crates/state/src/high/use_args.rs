//! `use` and `use_in`: one state takes arguments from another that it does not have
//! itself.

use halite_proto::Value;

use super::find::{Values, argument_names, find_name};
use super::first;
use super::requisite_in::{Declaring, KINDS, Resolver};

/// What is never taken over.
const OWN: [&str; 8] = [
    "name",
    "names",
    "onchanges",
    "onfail",
    "onfail_stop",
    "prereq",
    "require",
    "watch",
];

/// Adds the extensions that `use` (the declaring state takes) or `use_in`
/// (the target takes) mean.
pub(super) fn use_args(
    resolver: &mut Resolver<'_>,
    values: &Values,
    declaring: &Declaring<'_>,
    key: &str,
    name: &Value,
    state: &str,
) {
    let high = resolver.high;
    for (id, module) in find_name(high, values, name, state, true) {
        if !id.is_true() {
            continue;
        }
        let (from, to) = if key == "use" {
            ((&id, module.as_str()), (declaring.id, declaring.state))
        } else {
            ((declaring.id, declaring.state), (&id, module.as_str()))
        };
        let taken = argument_names(high, to.0, to.1);
        let source = high.get_value(from.0).and_then(|body| body.get(from.1));
        let wanted = |arg: &&Value| {
            let Some(arg) = arg.as_map().filter(|arg| arg.len() == 1) else {
                return false;
            };
            first(arg).is_some_and(|(key, _)| {
                let own = key
                    .as_str()
                    .is_some_and(|key| OWN.contains(&key) || KINDS.contains(&key));
                !own && !taken.contains(key)
            })
        };
        let args = source.and_then(Value::as_list).into_iter().flatten();
        let args: Vec<Value> = args.filter(wanted).cloned().collect();
        let extension = resolver.extensions.entry(to.0.clone()).or_default();
        let target = extension.get_or_insert_with(to.1, || Value::List(Vec::new()));
        if let Value::List(target) = target {
            target.extend(args);
        }
    }
}
