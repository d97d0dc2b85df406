//! Answers to the questions of Debian's packages: the execution module
//! `debconf`.

use halite_call::host::Program;
use halite_call::{
    Call, CallError, CallResult, Function, Module, check_one_line, os_error, paths, python,
};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "debconf",
    functions: &[
        Function::new(
            "debconf.get_selections",
            "(fetchempty=True)",
            get_selections,
            "All answers, by package.",
        ),
        Function::new(
            "debconf.set",
            "(package, question, type, value, *extra)",
            set_,
            "Sets an answer.",
        ),
        Function::new(
            "debconf.set_file",
            "(path, saltenv='base', **kwargs)",
            set_file_,
            "Sets the answers of a file.",
        ),
        Function::new(
            "debconf.set_template",
            "(path, template, context, defaults, saltenv='base', **kwargs)",
            set_template,
            "Sets the answers of a file that is a template.",
        ),
        Function::new("debconf.show", "(name)", show_, "The answers of a package."),
    ],
};

/// The answers: package, question, kind, value.
fn all(call: &Call<'_>) -> Result<Vec<[String; 4]>, CallError> {
    let ran = Program::new(call, &["debconf-get-selections"]).run()?;
    Ok(ran
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .filter_map(|line| {
            let mut fields = line.splitn(4, '\t').map(|field| field.trim().to_owned());
            Some([
                fields.next()?,
                fields.next()?,
                fields.next()?,
                fields.next().unwrap_or_default(),
            ])
        })
        .collect())
}

/// The answers of a package; nothing if it has none.
pub(crate) fn show(call: &Call<'_>, package: &str) -> Result<Option<Vec<[String; 3]>>, CallError> {
    let found: Vec<[String; 3]> = all(call)?
        .into_iter()
        .filter(|[name, ..]| name == package)
        .map(|[_, question, kind, value]| [question, kind, value])
        .collect();
    Ok((!found.is_empty()).then_some(found))
}

/// Gives answers to `debconf-set-selections`, which reads them, so that no
/// password is on a command line or in a file.
fn apply(call: &Call<'_>, text: &str) -> Result<bool, CallError> {
    let ran = Program::new(call, &["debconf-set-selections"])
        .stdin(text.replace("\\n", "\\\\n"))
        .option("output_loglevel", "quiet")
        .run()?;
    Ok(ran.ok())
}

/// Sets an answer.
pub(crate) fn set(
    call: &Call<'_>,
    package: &str,
    question: &str,
    kind: &str,
    value: &str,
) -> Result<bool, CallError> {
    let line = format!("{package} {question} {kind} {value}");
    check_one_line("an answer", &line)?;
    apply(call, &format!("{line}\n"))
}

/// Sets the answers of a file, fetched first if it is a URL.
pub(crate) fn set_file(call: &Call<'_>, path: &str, saltenv: &Value) -> Result<bool, CallError> {
    let cached = call.salt("cp.cache_file", &[path.into(), saltenv.clone()], Map::new())?;
    if !cached.is_true() {
        return Ok(false);
    }
    let cached = python::str(&cached);
    let text = paths::read_to_string(&cached).map_err(|error| os_error(&error, &cached))?;
    apply(call, &text)
}

fn texts(items: &[String]) -> Value {
    Value::List(items.iter().map(|item| item.as_str().into()).collect())
}

fn get_selections(call: &Call<'_>) -> CallResult {
    let mut found = Map::new();
    for [package, rest @ ..] in all(call)? {
        if rest[2].is_empty() && !call.flag("fetchempty") {
            continue;
        }
        let list = found.get_or_insert_with(Value::Str(package), || Value::List(Vec::new()));
        if let Value::List(list) = list {
            list.push(texts(&rest));
        }
    }
    Ok(found.into())
}

fn show_(call: &Call<'_>) -> CallResult {
    let found = show(call, &call.text("name"))?;
    Ok(found.map_or(Value::Nil, |list| {
        Value::List(list.iter().map(|answer| texts(answer)).collect())
    }))
}

fn set_(call: &Call<'_>) -> CallResult {
    let mut value = call.text("value");
    for more in call.varargs() {
        value.push(' ');
        value.push_str(&python::str(more));
    }
    let (package, question) = (call.text("package"), call.text("question"));
    Ok(set(call, &package, &question, &call.text("type"), &value)?.into())
}

fn set_file_(call: &Call<'_>) -> CallResult {
    Ok(set_file(call, &call.text("path"), call.arg("saltenv"))?.into())
}

fn set_template(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.clean_kwargs();
    kwargs.insert("path", call.arg("path").clone());
    kwargs.insert("dest", Value::Nil);
    for name in ["template", "context", "defaults", "saltenv"] {
        kwargs.insert(name, call.arg(name).clone());
    }
    let rendered = call.salt("cp.get_template", &[], kwargs)?;
    if !rendered.is_true() {
        return Ok(false.into());
    }
    Ok(set_file(call, &python::str(&rendered), call.arg("saltenv"))?.into())
}
