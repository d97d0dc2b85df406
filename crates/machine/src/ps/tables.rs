//! What other programs print, filtered.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;

fn output(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    let command = words.iter().map(|word| Value::from(*word)).collect();
    let kwargs = Map::from([("python_shell", false)]);
    match call.salt("cmd.run", &[Value::List(command)], kwargs)? {
        Value::Str(text) => Ok(text),
        _ => Ok(String::new()),
    }
}

fn needs(call: &Call<'_>, program: &str) -> Result<(), CallError> {
    match call.host().has(program) {
        true => Ok(()),
        false => Err(CallError::NotFound(format!(
            "The '{program}' binary was not found in $PATH."
        ))),
    }
}

pub(super) fn lsof(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let said = output(call, &["lsof", "-c", &name])?;
    Ok(vec![Value::from(name), said.into()].into())
}

fn holding(call: &Call<'_>, words: &[&str]) -> CallResult {
    let name = call.text("name");
    needs(call, words.first().copied().unwrap_or_default())?;
    let said = output(call, words)?;
    let lines = said.lines().filter(|line| line.contains(&name));
    let lines: Vec<Value> = lines.map(Value::from).collect();
    Ok(vec![Value::from(name), lines.into()].into())
}

pub(super) fn netstat(call: &Call<'_>) -> CallResult {
    holding(call, &["netstat", "-nap"])
}

pub(super) fn ss(call: &Call<'_>) -> CallResult {
    holding(call, &["ss", "-neap"])
}

pub(super) fn psaux(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let regex = |text: &str| {
        Pcre::searching(text).map_err(|error| CallError::exception("error", error.to_string()))
    };
    let (pattern, own) = (regex(&name)?, regex("salt.+ps.psaux.+")?);
    let said = output(call, &["ps", "aux"])?;
    let found: Vec<Value> = said
        .lines()
        .filter(|line| pattern.is_in(line).unwrap_or(false))
        .filter(|line| !own.is_in(line).unwrap_or(false))
        .map(Value::from)
        .collect();
    let count = format!("{} occurrence(s).", found.len());
    Ok(vec![Value::from(name), found.into(), count.into()].into())
}
