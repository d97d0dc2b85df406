//! The functions of `service`.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::{Action, How, Init, act, available, enable, enabled, is_offline, mask, masked, runs};
use super::{openrc, systemd, sysv, unmask};

const ACTION: &str = "(name, no_block=None, unmask=False, unmask_runtime=False)";

pub(crate) const MODULE: Module = Module {
    name: "service",
    functions: &[
        Function::new(
            "service.available",
            "(name)",
            available_,
            "Whether there is such a service.",
        ),
        Function::new(
            "service.delete",
            "(name, **kwargs)",
            delete,
            "Takes a service out of all runlevels (chkconfig).",
        ),
        Function::new(
            "service.disable",
            "(name, no_block=False, root=None, **kwargs)",
            disable_,
            "Keeps a service from starting with the system.",
        ),
        Function::new(
            "service.disabled",
            "(name, root=None)",
            disabled_,
            "Whether a service does not start with the system.",
        ),
        Function::new(
            "service.enable",
            "(name, no_block=False, unmask=False, unmask_runtime=False, root=None, **kwargs)",
            enable_,
            "Has a service start with the system.",
        ),
        Function::new(
            "service.enabled",
            "(name, root=None, **kwargs)",
            enabled_,
            "Whether a service starts with the system.",
        ),
        Function::new(
            "service.execs",
            "(root=None)",
            execs,
            "The programs of all services.",
        ),
        Function::new(
            "service.firstboot",
            "(locale=None, locale_message=None, keymap=None, timezone=None, hostname=None, machine_id=None, root=None)",
            firstboot,
            "Settings of a system that was never started (systemd).",
        ),
        Function::new(
            "service.force_reload",
            ACTION,
            force_reload,
            "Has a service read its configuration again, with force.",
        ),
        Function::new(
            "service.full_restart",
            ACTION,
            restart,
            "Stops and starts a service.",
        ),
        Function::new(
            "service.get_all",
            "(root=None)",
            get_all_,
            "All services there are.",
        ),
        Function::new(
            "service.get_disabled",
            "(root=None)",
            get_disabled,
            "Services that do not start with the system.",
        ),
        Function::new(
            "service.get_enabled",
            "(root=None)",
            get_enabled,
            "Services that start with the system.",
        ),
        Function::new(
            "service.get_running",
            "()",
            get_running,
            "Services that run.",
        ),
        Function::new(
            "service.get_static",
            "(root=None)",
            get_static,
            "Services that can neither be enabled nor disabled.",
        ),
        Function::new(
            "service.mask",
            "(name, runtime=False, root=None)",
            mask_,
            "Makes it impossible to start a service.",
        ),
        Function::new(
            "service.masked",
            "(name, runtime=False, root=None)",
            masked_,
            "Whether a service is masked.",
        ),
        Function::new(
            "service.missing",
            "(name)",
            missing,
            "Whether there is no such service.",
        ),
        Function::new(
            "service.offline",
            "()",
            offline,
            "Whether services cannot be managed since the system is not running.",
        ),
        Function::new(
            "service.reload",
            ACTION,
            reload,
            "Has a service read its configuration again.",
        ),
        Function::new(
            "service.restart",
            ACTION,
            restart,
            "Stops and starts a service.",
        ),
        Function::new(
            "service.show",
            "(name, root=None)",
            show,
            "All properties of a service.",
        ),
        Function::new("service.start", ACTION, start_, "Starts a service."),
        Function::new(
            "service.status",
            "(name, sig=None)",
            status_,
            "Whether a service runs; for a pattern, of all that match.",
        ),
        Function::new(
            "service.stop",
            "(name, no_block=None)",
            stop_,
            "Stops a service.",
        ),
        Function::new(
            "service.systemctl_reload",
            "()",
            systemctl_reload,
            "Has systemd read its units again.",
        ),
        Function::new(
            "service.unmask",
            "(name, runtime=False, root=None)",
            unmask_,
            "Makes it possible to start a service again.",
        ),
        Function::new(
            "service.zap",
            "(name)",
            zap,
            "Has OpenRC forget the state of a service.",
        ),
    ],
};

fn list(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}

fn name(call: &Call<'_>) -> String {
    call.text("name")
}

fn run_action(call: &Call<'_>, action: Action) -> CallResult {
    Ok(act(call, &name(call), action, &How::of(call))?.into())
}

fn start_(call: &Call<'_>) -> CallResult {
    run_action(call, Action::Start)
}

fn stop_(call: &Call<'_>) -> CallResult {
    run_action(call, Action::Stop)
}

fn restart(call: &Call<'_>) -> CallResult {
    run_action(call, Action::Restart)
}

fn reload(call: &Call<'_>) -> CallResult {
    run_action(call, Action::Reload)
}

fn force_reload(call: &Call<'_>) -> CallResult {
    run_action(call, Action::ForceReload)
}

fn available_(call: &Call<'_>) -> CallResult {
    Ok(available(call, &name(call))?.into())
}

fn missing(call: &Call<'_>) -> CallResult {
    Ok((!available(call, &name(call))?).into())
}

fn status_(call: &Call<'_>) -> CallResult {
    let (name, sig) = (name(call), call.arg("sig"));
    let is_pattern = name.contains(['*', '?']) || (name.contains('[') && name.contains(']'));
    if !is_pattern {
        return Ok(runs(call, &name, sig)?.into());
    }
    let mut all = Map::new();
    for service in get_all(call, None)? {
        if fnmatch(&name, &service) {
            let state = runs(call, &service, sig)?;
            all.insert(service, state);
        }
    }
    Ok(all.into())
}

fn enabled_(call: &Call<'_>) -> CallResult {
    Ok(enabled(call, &name(call), &How::of(call))?.into())
}

fn disabled_(call: &Call<'_>) -> CallResult {
    Ok((!enabled(call, &name(call), &How::of(call))?).into())
}

fn enable_(call: &Call<'_>) -> CallResult {
    Ok(enable(call, &name(call), true, &How::of(call))?.into())
}

fn disable_(call: &Call<'_>) -> CallResult {
    Ok(enable(call, &name(call), false, &How::of(call))?.into())
}

fn get_all(call: &Call<'_>, root: Option<&str>) -> Result<Vec<String>, CallError> {
    match Init::of(call) {
        Init::Systemd => Ok(systemd::all(call, root)),
        Init::OpenRc => openrc::all(call),
        Init::Debian | Init::RedHat => Ok(sysv::all(call)),
    }
}

fn get_all_(call: &Call<'_>) -> CallResult {
    let root = call.text_opt("root");
    Ok(list(get_all(call, root.as_deref())?))
}

fn by_enabled(call: &Call<'_>, wanted: bool) -> CallResult {
    let how = How::of(call);
    if Init::of(call) == Init::Systemd {
        return Ok(list(systemd::by_enabled(call, wanted, &how)?));
    }
    let mut found = Vec::new();
    for service in get_all(call, None)? {
        if enabled(call, &service, &how)? == wanted {
            found.push(service);
        }
    }
    Ok(list(found))
}

fn get_enabled(call: &Call<'_>) -> CallResult {
    if Init::of(call) == Init::OpenRc {
        return Ok(openrc::enabled_with_levels(call)?.into());
    }
    by_enabled(call, true)
}

fn get_disabled(call: &Call<'_>) -> CallResult {
    if Init::of(call) == Init::OpenRc {
        return Ok(list(openrc::all_disabled(call)?));
    }
    by_enabled(call, false)
}

/// What only systemd has, also where it does not run.
fn only_systemd(call: &Call<'_>) -> Result<(), CallError> {
    if Init::of(call) == Init::Systemd || is_offline(call) {
        Ok(())
    } else {
        Err(CallError::command(
            "systemd does not run here, and only systemd can do that",
        ))
    }
}

fn delete(call: &Call<'_>) -> CallResult {
    if Init::of(call) != Init::RedHat {
        return Err(CallError::command(
            "Services are taken out of all runlevels only where chkconfig manages them",
        ));
    }
    Ok(sysv::delete(call, &name(call))?.into())
}

fn zap(call: &Call<'_>) -> CallResult {
    if Init::of(call) != Init::OpenRc {
        return Err(CallError::command(
            "OpenRC does not run here, and only OpenRC can do that",
        ));
    }
    Ok(openrc::zap(call, &name(call))?.into())
}

fn firstboot(call: &Call<'_>) -> CallResult {
    let options = [
        ("locale", "--locale"),
        ("locale_message", "--locale-message"),
        ("keymap", "--keymap"),
        ("timezone", "--timezone"),
        ("hostname", "--hostname"),
        ("machine_id", "--machine-ID"),
        ("root", "--root"),
    ];
    let mut line = vec!["systemd-firstboot".to_owned()];
    for (argument, option) in options {
        if let Some(value) = call.text_opt(argument).filter(|text| !text.is_empty()) {
            line.extend([option.to_owned(), value]);
        }
    }
    let ran = Program::new(call, &line).may_fail().run()?;
    if ran.ok() {
        return Ok(true.into());
    }
    Err(CallError::command(format!(
        "systemd-firstboot error: {}",
        ran.stderr
    )))
}

fn get_static(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    Ok(list(systemd::unit_files(call, "static", &How::of(call))?))
}

fn get_running(call: &Call<'_>) -> CallResult {
    if Init::of(call) == Init::Systemd {
        return Ok(list(systemd::running(call)?));
    }
    let mut found = Vec::new();
    for service in get_all(call, None)? {
        if runs(call, &service, &Value::Nil)? {
            found.push(service);
        }
    }
    Ok(list(found))
}

fn mask_(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    Ok(mask(call, &name(call), call.flag("runtime"), &How::of(call))?.into())
}

fn masked_(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    Ok(masked(call, &name(call), call.flag("runtime"), &How::of(call))?.into())
}

fn unmask_(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    Ok(unmask(call, &name(call), call.flag("runtime"), &How::of(call))?.into())
}

fn offline(call: &Call<'_>) -> CallResult {
    Ok(is_offline(call).into())
}

fn systemctl_reload(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    systemd::daemon_reload(call)?;
    Ok(true.into())
}

fn show(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    Ok(systemd::show(call, &name(call), &How::of(call))?.into())
}

fn execs(call: &Call<'_>) -> CallResult {
    only_systemd(call)?;
    let how = How::of(call);
    let mut programs = Map::new();
    for service in systemd::all(call, how.root.as_deref()) {
        let properties = systemd::show(call, &service, &how)?;
        if let Some(path) = properties
            .get("ExecStart")
            .and_then(|exec| exec.get("path"))
        {
            programs.insert(service, path.clone());
        }
    }
    Ok(programs.into())
}
