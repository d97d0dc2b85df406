//! Files of sections and options: the execution module `ini`.

mod document;
mod options_plan;
pub(crate) mod state;

use document::Document;
use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, Function, Module, encoding, os_text, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "ini",
    functions: &[
        Function::new(
            "ini.get_ini",
            "(file_name, separator='=', encoding=None)",
            get_ini,
            "All options of a file.",
        ),
        Function::new(
            "ini.get_option",
            "(file_name, section, option, separator='=', encoding=None)",
            get_option,
            "The value of an option.",
        ),
        Function::new(
            "ini.get_section",
            "(file_name, section, separator='=', encoding=None)",
            get_section,
            "The options of a section.",
        ),
        Function::new(
            "ini.remove_option",
            "(file_name, section, option, separator='=', encoding=None)",
            remove_option,
            "Removes an option; its value.",
        ),
        Function::new(
            "ini.remove_section",
            "(file_name, section, separator='=', encoding=None)",
            remove_section,
            "Removes a section; its options.",
        ),
        Function::new(
            "ini.set_option",
            "(file_name, sections=None, separator='=', encoding=None, no_spaces=False)",
            set_option,
            "Sets options; what was changed.",
        ),
    ],
};

fn encoding_of(call: &Call<'_>) -> String {
    let given = call.get("encoding").filter(|given| given.is_true());
    given.and_then(Value::as_str).unwrap_or("utf-8").to_owned()
}

/// Reads a file; a missing one is empty.
pub(crate) fn read(call: &Call<'_>, file: &str, separator: &str) -> Result<Document, CallError> {
    let path = call.host().path(file);
    let text = match halite_call::paths::read(&path) {
        Ok(bytes) => encoding::decode(&bytes, &encoding_of(call)).map_err(encoding::wrong)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(CallError::command(format!(
                "Unable to open file '{file}'. Exception: {}",
                os_text(&error, file)
            )));
        }
    };
    Ok(Document::parse(&text, separator))
}

/// Writes a file.
pub(crate) fn save(
    call: &Call<'_>,
    file: &str,
    ini: &Document,
    no_spaces: bool,
) -> Result<(), CallError> {
    let bytes = encoding::encode(&ini.text(no_spaces), &encoding_of(call), "strict")
        .map_err(encoding::wrong)?;
    replace_file(&call.host().path(file), &bytes).map_err(|error| {
        let why = os_text(&error, file);
        CallError::command(format!("Unable to write file '{file}'. Exception: {why}"))
    })
}

/// The name of the file that the call is about, and what is in it.
fn file_and_document(call: &Call<'_>) -> Result<(String, Document), CallError> {
    let file = call.text("file_name");
    let ini = read(call, &file, &call.text("separator"))?;
    Ok((file, ini))
}

fn section(call: &Call<'_>) -> String {
    call.text_opt("section").unwrap_or_default()
}

fn get_ini(call: &Call<'_>) -> CallResult {
    Ok(file_and_document(call)?.1.to_map().into())
}

fn get_option(call: &Call<'_>) -> CallResult {
    let (_, ini) = file_and_document(call)?;
    Ok(ini.get(&section(call), &call.text("option")).into())
}

fn get_section(call: &Call<'_>) -> CallResult {
    Ok(file_and_document(call)?
        .1
        .options(&section(call))
        .unwrap_or_default()
        .into())
}

fn remove_option(call: &Call<'_>) -> CallResult {
    let (file, mut ini) = file_and_document(call)?;
    let old = ini.remove_option(&section(call), &call.text("option"));
    if old.is_some() {
        save(call, &file, &ini, false)?;
    }
    Ok(old.into())
}

fn remove_section(call: &Call<'_>) -> CallResult {
    let (file, mut ini) = file_and_document(call)?;
    let old = ini.remove_section(&section(call));
    if old.is_some() {
        save(call, &file, &ini, false)?;
    }
    Ok(old.map_or(Value::Nil, Value::from))
}

fn set_option(call: &Call<'_>) -> CallResult {
    let (file, mut ini) = file_and_document(call)?;
    let sections = match call.arg("sections") {
        Value::Map(map) => map.clone(),
        Value::Nil => Map::new(),
        other => {
            return Err(CallError::invocation(format!(
                "sections is not a map: {}",
                python::repr(other)
            )));
        }
    };
    let changes = ini.update(&sections);
    save(call, &file, &ini, call.flag("no_spaces"))?;
    Ok(changes.into())
}
