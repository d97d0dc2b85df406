//! Services: the execution module `service` over systemd, OpenRC and init
//! scripts.

mod functions;
mod openrc;
mod systemd;
mod sysv;

pub(crate) use functions::MODULE;
use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

/// Systems that have init scripts wherever systemd does not run.
const SCRIPTS_UNLESS_BOOTED: [&str; 4] = ["Debian", "Raspbian", "Devuan", "NILinuxRT"];

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
        let os = grains.get("os").and_then(Value::as_str).unwrap_or_default();
        if is_booted(call) {
            Self::Systemd
        } else if SCRIPTS_UNLESS_BOOTED.contains(&os) {
            Self::Debian
        } else if host.has("systemctl") {
            // It is there and does not run: see `is_offline`.
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
        Init::OpenRc => Ok(openrc::all(call)?.iter().any(|known| known == name)),
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
    !is_booted(call) && call.host().has("systemctl")
}

/// Whether systemd runs here.
fn is_booted(call: &Call<'_>) -> bool {
    call.host().path("/run/systemd/system").is_dir()
}

pub(crate) use systemd::{mask, masked, unmask};
