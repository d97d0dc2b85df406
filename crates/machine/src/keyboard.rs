//! The layout of the keyboard: the execution module `keyboard`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, check_one_line, os_error};
use halite_proto::Value;

pub(crate) const MODULE: Module = Module {
    name: "keyboard",
    functions: &[
        Function::new(
            "keyboard.get_sys",
            "()",
            get_sys,
            "The layout of the keyboard on the console.",
        ),
        Function::new(
            "keyboard.get_x",
            "()",
            get_x,
            "The layout of the keyboard in X.",
        ),
        Function::new(
            "keyboard.set_sys",
            "(layout)",
            set_sys,
            "Sets the layout of the keyboard on the console.",
        ),
        Function::new(
            "keyboard.set_x",
            "(layout)",
            set_x,
            "Sets the layout of the keyboard in X.",
        ),
    ],
};

/// The file and the key that a family of systems has it in.
fn place(call: &Call<'_>) -> Result<(&'static str, &'static str), CallError> {
    let grains = call.ctx.grains();
    match grains.get("os_family").and_then(Value::as_str) {
        Some("RedHat") => Ok(("/etc/sysconfig/keyboard", "LAYOUT")),
        Some("Debian") => Ok(("/etc/default/keyboard", "XKBLAYOUT")),
        Some("Gentoo") => Ok(("/etc/conf.d/keymaps", "keymap")),
        _ => Err(CallError::command(
            "only works on Redhat, Debian or Gentoo systems or if localectl binary in path.",
        )),
    }
}

fn layout(call: &Call<'_>) -> Result<String, CallError> {
    let layout = call.text("layout");
    let good = |c: char| c.is_alphanumeric() || "-_,()+.:".contains(c);
    if layout.is_empty() || layout.starts_with('-') || !layout.chars().all(good) {
        return Err(CallError::invocation(format!("not a layout: {layout:?}")));
    }
    Ok(layout)
}

fn get_sys(call: &Call<'_>) -> CallResult {
    if call.host().has("localectl") {
        let said = Program::new(call, &["localectl"]).run()?.stdout;
        let line = said.lines().find(|line| line.contains("Keymap"));
        let value = line.and_then(|line| line.split_once(": "));
        return Ok(value.map(|(_, value)| value.replace('"', "")).into());
    }
    let (file, key) = place(call)?;
    let text = call.host().read(file);
    let found = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
    match found {
        Some(value) => Ok(value.replace('"', "").into()),
        None => Err(CallError::command(format!("{file} tells no layout"))),
    }
}

fn set_sys(call: &Call<'_>) -> CallResult {
    let layout = layout(call)?;
    if call.host().has("localectl") {
        let ran = Program::new(call, &["localectl", "set-keymap", &layout]).run()?;
        if !ran.ok() {
            return Err(CallError::command(ran.complaint()));
        }
        return Ok(layout.into());
    }
    check_one_line("a layout", &layout)?;
    let (file, key) = place(call)?;
    let path = call.host().path(file);
    let text = call.host().read_to_change(file)?;
    let prefix = format!("{key}=");
    let changed: String = text
        .lines()
        .map(|line| match line.starts_with(&prefix) {
            true => format!("{prefix}{layout}\n"),
            false => format!("{line}\n"),
        })
        .collect();
    replace_file(&path, changed.as_bytes()).map_err(|error| os_error(&error, file))?;
    Ok(layout.into())
}

fn x(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    if !call.host().has("setxkbmap") {
        return Err(CallError::NotFound(
            "The 'setxkbmap' binary was not found in $PATH.".to_owned(),
        ));
    }
    let ran = Program::new(call, words).run()?;
    match ran.ok() {
        true => Ok(ran.stdout),
        false => Err(CallError::command(ran.complaint())),
    }
}

fn get_x(call: &Call<'_>) -> CallResult {
    let said = x(call, &["setxkbmap", "-query"])?;
    let found = said.lines().find(|line| line.contains("layout"));
    let value = found.and_then(|line| line.split_once(':'));
    Ok(value.map(|(_, value)| value.trim().to_owned()).into())
}

fn set_x(call: &Call<'_>) -> CallResult {
    let layout = layout(call)?;
    x(call, &["setxkbmap", &layout])?;
    Ok(layout.into())
}
