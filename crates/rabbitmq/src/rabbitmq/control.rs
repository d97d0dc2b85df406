//! Runs the broker's programs and reads their output.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value, json};

/// The name of the program of the broker; what states need.
pub(crate) const CONTROL: &str = "rabbitmqctl";
pub(super) const PLUGINS: &str = "rabbitmq-plugins";

pub(super) fn run(
    call: &Call<'_>,
    program: &str,
    words: &[&str],
    input: Option<&str>,
) -> Result<Ran, CallError> {
    let found = call.host().which(program);
    let found =
        found.ok_or_else(|| CallError::NotFound(format!("Command not found: {program}")))?;
    let mut all = vec![found.to_string_lossy().into_owned()];
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let mut running = Program::new(call, &all)
        .user(call.text_opt("runas").as_deref())
        .option("reset_system_locale", false);
    if let Some(input) = input {
        running = running.stdin(format!("{input}\n"));
    }
    running.run()
}

/// What went wrong, in Salt's words.
fn failed(ran: &Ran) -> CallError {
    CallError::command(format!("RabbitMQ command failed: {}", ran.complaint()))
}

pub(super) fn good(ran: Ran) -> Result<Ran, CallError> {
    match ran.ok() {
        true => Ok(ran),
        false => Err(failed(&ran)),
    }
}

pub(super) fn plain(call: &Call<'_>, words: &[&str]) -> CallResult {
    Ok(good(run(call, CONTROL, words, None)?)?.stdout.into())
}

/// Runs `rabbitmqctl`. Returns its output under the name of what was done.
pub(super) fn run_and_report(call: &Call<'_>, done: &str, words: &[&str]) -> CallResult {
    let said = good(run(call, CONTROL, words, None)?)?.stdout;
    Ok(Map::from([(done, said)]).into())
}

/// The same of a command that asks for a password.
pub(super) fn secretly(call: &Call<'_>, done: &str, command: &str, password: &str) -> CallResult {
    let ran = run(
        call,
        CONTROL,
        &[command, &call.text("name")],
        Some(password),
    )?;
    let said = without_prompt(&good(ran)?.stdout);
    Ok(Map::from([(done, said)]).into())
}

fn without_prompt(text: &str) -> String {
    let lines = text.lines().filter(|line| line.trim() != "Password:");
    lines.collect::<Vec<_>>().join("\n")
}

/// JSON for the broker.
pub(super) fn written(data: &Value) -> Result<String, CallError> {
    json::write(data, json::Style::default())
        .map_err(|error| CallError::wrong_type(error.to_string()))
}

/// A list of the broker's, each entry a map.
pub(super) fn rows(call: &Call<'_>, words: &[&str]) -> Result<Vec<Map>, CallError> {
    let words = [words, &["-q", "--formatter=json"]].concat();
    let said = good(run(call, CONTROL, &words, None)?)?.stdout;
    let read = json::read(&said);
    let Ok(Value::List(rows)) = read else {
        let text = format!("RabbitMQ command failed: {said}");
        return Err(CallError::command(text));
    };
    let maps = rows.into_iter().filter_map(|row| match row {
        Value::Map(row) => Some(row),
        _ => None,
    });
    Ok(maps.collect())
}

/// Rows by one of their fields, without it.
pub(super) fn keyed(rows: Vec<Map>, key: &str) -> Map {
    let rows = rows.into_iter().map(|mut row| {
        let name = row.remove(key).unwrap_or_default();
        (name, Value::from(row))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use halite_call::python;

    use super::*;

    #[test]
    fn prompts_are_no_answers() {
        assert_eq!(
            without_prompt("Adding ...\nPassword: \nDone."),
            "Adding ...\nDone."
        );
    }

    #[test]
    fn rows_by_a_field() {
        let row = Map::from([("user", "ann"), ("read", ".*")]);
        assert_eq!(
            python::repr(&keyed(vec![row], "user").into()),
            "{'ann': {'read': '.*'}}"
        );
    }
}
