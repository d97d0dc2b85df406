//! Passwords of web servers: the execution module `webutil`.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::Value;

pub(crate) const MODULE: Module = Module {
    name: "webutil",
    functions: &[
        Function::new(
            "webutil.useradd",
            "(pwfile, user, password, opts='', runas=None)",
            useradd,
            "Adds a user to a file of passwords, or changes the password. opts are flags\nof htpasswd.",
        ),
        Function::new(
            "webutil.userdel",
            "(pwfile, user, runas=None, all_results=False)",
            userdel,
            "Removes a user from a file of passwords.",
        ),
        Function::new(
            "webutil.verify",
            "(pwfile, user, password, opts='', runas=None)",
            verify,
            "Whether a password is that of a user.",
        ),
    ],
};

/// Runs htpasswd; the password goes in over its input, so that no list of
/// processes shows it.
fn htpasswd(call: &Call<'_>, flags: &str, password: Option<&str>) -> CallResult {
    if !call.host().has("htpasswd") {
        return Err(CallError::NotFound(
            "The 'htpasswd' binary was not found in $PATH.".to_owned(),
        ));
    }
    let (file, user) = (call.text("pwfile"), call.text("user"));
    for word in [&file, &user] {
        if word.is_empty() || word.starts_with('-') {
            return Err(CallError::invocation(format!("not a name: {word:?}")));
        }
    }
    let runas = call.text_opt("runas");
    let program = Program::new(call, &["htpasswd", flags, &file, &user]).user(runas.as_deref());
    match password {
        Some(password) => program.stdin(format!("{password}\n")).run_all(),
        None => program.run_all(),
    }
}

fn flags(call: &Call<'_>) -> Result<String, CallError> {
    let flags = call.text("opts");
    match flags.chars().all(|flag| flag.is_ascii_alphanumeric()) {
        true => Ok(flags),
        false => Err(CallError::invocation(format!(
            "no flags of htpasswd: {flags:?}"
        ))),
    }
}

fn is_there(call: &Call<'_>) -> bool {
    call.host().path(call.text("pwfile")).exists()
}

fn useradd(call: &Call<'_>) -> CallResult {
    let create = if is_there(call) { "" } else { "c" };
    let flags = format!("-i{}{create}", flags(call)?);
    htpasswd(call, &flags, Some(&call.text("password")))
}

fn userdel(call: &Call<'_>) -> CallResult {
    if !is_there(call) {
        return Ok("Error: The specified htpasswd file does not exist".into());
    }
    let ran = htpasswd(call, "-D", None)?;
    if call.flag("all_results") {
        return Ok(ran);
    }
    let both = ["stdout", "stderr"].map(|name| ran.get(name).map(python::str).unwrap_or_default());
    let lines = both.iter().flat_map(|text| text.lines()).map(Value::from);
    Ok(lines.collect::<Vec<_>>().into())
}

fn verify(call: &Call<'_>) -> CallResult {
    if !is_there(call) {
        return Ok(false.into());
    }
    let flags = format!("-iv{}", flags(call)?);
    let ran = htpasswd(call, &flags, Some(&call.text("password")))?;
    Ok((ran.get("retcode").and_then(Value::as_i64) == Some(0)).into())
}
