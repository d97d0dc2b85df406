//! `survey.*`: which minions return the same.

use halite_crypto::{HashType, hash_hex};
use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::gather::Command;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "survey.diff",
        "(*args, **kwargs)",
        diff,
        "Runs a function on minions, groups them by what they return, and shows how the\n\
         groups differ from the first one.\n\n\
         With `survey_sort=up` the smallest group comes first.",
    ),
    Function::new(
        "survey.hash",
        "(*args, **kwargs)",
        hash,
        "Runs a function on minions and groups them by what they return.\n\n\
         With `survey_sort=up` the smallest group comes first.",
    ),
];

/// Minions that returned the same.
struct Pool {
    digest: String,
    result: String,
    ids: Vec<String>,
}

fn hash(call: &Call<'_>) -> Ran {
    Ok(shown(pools(call)?))
}

/// The differences are reported as progress, before the return.
fn diff(call: &Call<'_>) -> Ran {
    let pools = pools(call)?;
    if let Some((first, others)) = pools.split_first() {
        let mut text = format!(
            "{}pool result :\n------------\n    {}\n",
            first.head(),
            first.result
        );
        for other in others {
            let title = format!("differences from \"{}\" results :", first.name());
            let line = "-".repeat(title.len() - 1);
            text.push_str(&format!("\n{}{title}\n{line}\n", other.head()));
            text.push_str(&halite_files::unified_diff(
                &first.result,
                &other.result,
                first.name(),
                other.name(),
            ));
            text.push('\n');
        }
        call.print(text);
    }
    Ok(shown(pools))
}

impl Pool {
    fn name(&self) -> &str {
        self.ids.first().map_or("", String::as_str)
    }

    fn head(&self) -> String {
        let ids = self.ids.iter().map(|id| Value::from(id.as_str())).collect();
        format!(
            "minion pool :\n------------\n{}\npool size :\n----------\n    {}\n",
            halite_proto::python::repr(&Value::List(ids)),
            self.ids.len()
        )
    }
}

fn pools(call: &Call<'_>) -> Result<Vec<Pool>, RunnerError> {
    let mut args = call.bound.varargs.iter();
    let (Some(tgt), Some(Value::Str(fun))) = (args.next(), args.next()) else {
        return Err(RunnerError::Failed(
            "a target and a function are needed".to_owned(),
        ));
    };
    let mut kwargs = call.bound.kwargs.clone();
    let sort = kwargs.remove("survey_sort");
    let tgt_type = match kwargs.remove("tgt_type") {
        Some(Value::Str(kind)) if kind == "pcre" => "pcre",
        _ => "compound",
    };
    kwargs.retain(|name, _| !name.as_str().is_some_and(|name| name.starts_with('_')));
    let mut command = Command::new(call, tgt.clone(), tgt_type, fun);
    command.arg = args.cloned().collect();
    if !kwargs.is_empty() {
        let mut marked = Map::from([("__kwarg__", true)]);
        marked.extend(kwargs);
        command.arg.push(marked.into());
    }
    let mut rows = call.command(&command)?;
    rows.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut pools: Vec<Pool> = Vec::new();
    for row in rows {
        let result = halite_proto::python::str(&row.ret);
        let digest = hash_hex(HashType::Sha256, result.as_bytes());
        match pools.iter_mut().find(|pool| pool.digest == digest) {
            Some(pool) => pool.ids.push(row.id),
            None => pools.push(Pool {
                digest,
                result,
                ids: vec![row.id],
            }),
        }
    }
    pools.sort_by_key(|pool| pool.ids.len());
    if sort != Some(Value::from("up")) {
        // Of equal size, the first one stays first.
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.ids.len()));
    }
    Ok(pools)
}

fn shown(pools: Vec<Pool>) -> Value {
    let shown = pools.into_iter().map(|pool| {
        let ids = pool.ids.into_iter().map(Value::from).collect();
        Map::from([("pool", Value::List(ids)), ("result", pool.result.into())]).into()
    });
    Value::List(shown.collect())
}
