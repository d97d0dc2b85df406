//! `mine.*`: what minions have left for others.

use halite_proto::{Map, Value};
use halite_store::Bank;

use super::Call;
use super::error::{Ran, RunnerError};
use super::gather::Command;
use super::table::Function;
use crate::core::mine;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "mine.get",
        "(tgt, fun, tgt_type='glob')",
        get,
        "The values of a function in the mine of minions.",
    ),
    Function::new(
        "mine.update",
        "(tgt, tgt_type='glob', clear=False, mine_functions=None)",
        update,
        "Tells minions to update their mine.",
    ),
];

fn get(call: &Call<'_>) -> Ran {
    let funs: Vec<String> = match call.arg("fun") {
        Value::List(funs) => funs
            .iter()
            .filter_map(|fun| fun.as_str().map(str::to_owned))
            .collect(),
        Value::Str(funs) => funs.split(',').map(|fun| fun.trim().to_owned()).collect(),
        _ => return Err(RunnerError::Failed("the function must be text".to_owned())),
    };
    let is_several = matches!(call.arg("fun"), Value::List(_)) || funs.len() > 1;
    let mut answer = Map::new();
    for id in call.targets()? {
        let Some(values) = call.runners.fleet.data.get(Bank::Mine, &id)? else {
            continue;
        };
        // What is kept for some minions only is not for the master.
        mine::gather(
            &mut answer,
            id.as_str(),
            &values,
            &funs,
            is_several,
            &mut |_| false,
        );
    }
    Ok(answer.into())
}

fn update(call: &Call<'_>) -> Ran {
    let tgt = call.arg("tgt").clone();
    let mut command = Command::new(
        call,
        tgt,
        call.text("tgt_type").unwrap_or("glob"),
        "mine.update",
    );
    command.arg = vec![
        Map::from([
            ("__kwarg__", Value::from(true)),
            ("clear", call.arg("clear").clone()),
            ("mine_functions", call.arg("mine_functions").clone()),
        ])
        .into(),
    ];
    let rows = call.command(&command)?.into_iter();
    Ok(rows
        .map(|row| (Value::from(row.id), row.ret))
        .collect::<Map>()
        .into())
}
