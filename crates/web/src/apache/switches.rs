//! Enabled modules, sites and configurations: links in a directory, as in Debian.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

/// What can be switched.
#[derive(Clone, Copy)]
pub(crate) enum SwitchKind {
    Module,
    Site,
    Conf,
}

impl SwitchKind {
    /// As the programs name it.
    pub(super) fn short(self) -> &'static str {
        match self {
            Self::Module => "mod",
            Self::Site => "site",
            Self::Conf => "conf",
        }
    }

    /// As comments name it.
    pub(crate) fn shown(self) -> &'static str {
        match self {
            Self::Module => "module",
            other => other.short(),
        }
    }

    /// The links that stand for a name, any of which turns it on.
    fn links(self, name: &str) -> Vec<String> {
        let directory = match self {
            Self::Module => "mods-enabled",
            Self::Site => "sites-enabled",
            Self::Conf => "conf-enabled",
        };
        let suffix = match self {
            Self::Module => ".load",
            _ => ".conf",
        };
        let files = match (self, name) {
            (Self::Site, "default" | "000-default") => {
                vec!["000-default.conf".to_owned(), "000-default".to_owned()]
            }
            (_, name) if name.ends_with(suffix) => vec![name.to_owned()],
            (_, name) => vec![format!("{name}{suffix}")],
        };
        let place = |file| format!("/etc/apache2/{directory}/{file}");
        files.into_iter().map(place).collect()
    }
}

/// A name that no program takes for an option, nor leads out of a directory.
fn checked(name: &str) -> Result<(), CallError> {
    match name.is_empty() || name.starts_with('-') || name.contains('/') {
        true => Err(CallError::invocation(format!("not a name: {name:?}"))),
        false => Ok(()),
    }
}

/// Whether it is on.
pub(crate) fn is_on(call: &Call<'_>, kind: SwitchKind, name: &str) -> Result<bool, CallError> {
    checked(name)?;
    let host = call.host();
    Ok(kind
        .links(name)
        .iter()
        .any(|link| host.path(link).is_symlink()))
}

pub(super) fn check(call: &Call<'_>, kind: SwitchKind, name: &str) -> CallResult {
    Ok(is_on(call, kind, name)?.into())
}

/// What the switch came to: a text, or the return code where none is known.
pub(crate) fn turned(
    call: &Call<'_>,
    kind: SwitchKind,
    on: bool,
    name: &str,
) -> Result<Value, CallError> {
    checked(name)?;
    let program = format!("a2{}{}", if on { "en" } else { "dis" }, kind.short());
    if !call.host().has(&program) {
        return Err(CallError::NotFound(format!(
            "The '{program}' binary was not found in $PATH."
        )));
    }
    let ran = Program::new(call, &[program.as_str(), name]).run()?;
    let what = title(kind);
    Ok(match (ran.code, on) {
        (0, true) => format!("{what} {name} enabled").into(),
        (0, false) => format!("{what} {name} disabled").into(),
        (1, true) => format!("{what} {name} Not found").into(),
        (code, _) => code.into(),
    })
}

fn title(kind: SwitchKind) -> &'static str {
    match kind {
        SwitchKind::Module => "Mod",
        SwitchKind::Site => "Site",
        SwitchKind::Conf => "Conf",
    }
}

pub(super) fn switch(call: &Call<'_>, kind: SwitchKind, on: bool, name: &str) -> CallResult {
    let (what, verb) = (title(kind), if on { "Enable" } else { "Disable" });
    let status = turned(call, kind, on, name)?;
    Ok(Map::from([
        ("Name", format!("Apache2 {verb} {what}").into()),
        (what, Value::from(name)),
        ("Status", status),
    ])
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_the_suffix_of_their_kind() {
        let links = |kind: SwitchKind, name| kind.links(name).join(" ");
        assert_eq!(
            links(SwitchKind::Module, "ssl"),
            "/etc/apache2/mods-enabled/ssl.load"
        );
        assert_eq!(
            links(SwitchKind::Conf, "x.conf"),
            "/etc/apache2/conf-enabled/x.conf"
        );
        assert_eq!(
            SwitchKind::Site.links("default"),
            SwitchKind::Site.links("000-default")
        );
    }

    #[test]
    fn names_stay_in_their_directory() {
        assert!(checked("ssl").is_ok());
        for name in ["", "-q", "../x"] {
            assert!(checked(name).is_err(), "{name}");
        }
    }
}
