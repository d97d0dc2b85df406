//! Services: the execution module `service` over systemd, OpenRC and init
//! scripts.

mod openrc;
mod systemd;
mod sysv;

use halite_modules::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

/// What starts and stops services on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Init {
    /// systemd, which runs.
    Systemd,
    /// Alpine, Gentoo.
    OpenRc,
    /// Init scripts and `update-rc.d`.
    Debian,
    /// Init scripts and `chkconfig`.
    RedHat,
}

impl Init {
    /// That of this machine.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let host = call.host();
        let named = call.opt("providers").get("service").map(python::str);
        match named.as_deref() {
            Some("systemd" | "systemd_service") => return Self::Systemd,
            Some("gentoo_service") => return Self::OpenRc,
            Some("debian_service") => return Self::Debian,
            Some("rh_service") => return Self::RedHat,
            _ => {}
        }
        let grains = call.ctx.grains();
        let family = grains
            .get("os_family")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if host.path("/run/systemd/system").is_dir() {
            Self::Systemd
        } else if host.has("rc-service") || ["Alpine", "Gentoo"].contains(&family) {
            Self::OpenRc
        } else if family == "RedHat" {
            Self::RedHat
        } else {
            Self::Debian
        }
    }

    /// Whether it can mask services.
    pub(crate) fn masks(self) -> bool {
        self == Self::Systemd
    }
}

/// How an action on a systemd service is to be carried out.
#[derive(Debug, Clone, Default)]
pub(crate) struct How {
    pub(crate) no_block: Option<bool>,
    pub(crate) unmask: bool,
    pub(crate) unmask_runtime: bool,
    pub(crate) root: Option<String>,
}

impl How {
    fn of(call: &Call<'_>) -> Self {
        let flag = |name: &str| call.get(name).is_some_and(Value::is_true);
        let no_block = call.get("no_block").filter(|value| !value.is_nil());
        Self {
            no_block: no_block.map(Value::is_true),
            unmask: flag("unmask"),
            unmask_runtime: flag("unmask_runtime"),
            root: call
                .get("root")
                .filter(|root| root.is_true())
                .map(python::str),
        }
    }
}

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
    ],
};

/// What can be done with a running service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Start,
    Stop,
    Restart,
    Reload,
    ForceReload,
}

impl Action {
    /// The word for it on command lines.
    fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Reload => "reload",
            Self::ForceReload => "force-reload",
        }
    }
}

/// Starts, stops, ...; whether that went well.
pub(crate) fn act(
    call: &Call<'_>,
    name: &str,
    action: Action,
    how: &How,
) -> Result<bool, CallError> {
    match Init::of(call) {
        Init::Systemd => systemd::act(call, name, action, how),
        Init::OpenRc => openrc::act(call, name, action),
        Init::Debian | Init::RedHat => sysv::act(call, name, action),
    }
}

pub(crate) fn available(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    match Init::of(call) {
        Init::Systemd => systemd::available(call, name),
        Init::OpenRc => Ok(call.host().path(format!("/etc/init.d/{name}")).exists()),
        Init::Debian | Init::RedHat => Ok(sysv::all(call).iter().any(|known| known == name)),
    }
}

/// Whether a service runs.
pub(crate) fn runs(call: &Call<'_>, name: &str, sig: &Value) -> Result<bool, CallError> {
    let init = Init::of(call);
    if init != Init::Systemd && sig.is_true() {
        let pid = call.salt("status.pid", std::slice::from_ref(sig), Map::new())?;
        return Ok(pid.is_true());
    }
    match init {
        Init::Systemd => systemd::runs(call, name),
        Init::OpenRc => openrc::runs(call, name),
        Init::Debian | Init::RedHat => sysv::runs(call, name),
    }
}

pub(crate) fn enabled(call: &Call<'_>, name: &str, how: &How) -> Result<bool, CallError> {
    match Init::of(call) {
        Init::Systemd => systemd::enabled(call, name, how),
        Init::OpenRc => openrc::enabled(call, name),
        Init::Debian => Ok(sysv::enabled_debian(call, name)),
        Init::RedHat => sysv::enabled_redhat(call, name),
    }
}

/// Enables or disables; whether that went well.
pub(crate) fn enable(call: &Call<'_>, name: &str, on: bool, how: &How) -> Result<bool, CallError> {
    match Init::of(call) {
        Init::Systemd => systemd::enable(call, name, on, how),
        Init::OpenRc => openrc::enable(call, name, on),
        init => sysv::enable(call, name, on, init == Init::Debian),
    }
}

/// Whether the system does not run, so that nothing can be started.
pub(crate) fn is_offline(call: &Call<'_>) -> bool {
    Init::of(call) == Init::Systemd
        && call.host().is_real()
        && std::env::var_os("SYSTEMD_OFFLINE").is_some_and(|value| value == "1")
}

pub(crate) use systemd::{mask, masked, unmask};

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
        Init::OpenRc | Init::Debian | Init::RedHat => Ok(sysv::all(call)),
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
    by_enabled(call, true)
}

fn get_disabled(call: &Call<'_>) -> CallResult {
    by_enabled(call, false)
}

/// What only systemd has.
fn only_systemd(call: &Call<'_>) -> Result<(), CallError> {
    if Init::of(call) == Init::Systemd {
        Ok(())
    } else {
        Err(CallError::command(
            "systemd does not run here, and only systemd can do that",
        ))
    }
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
