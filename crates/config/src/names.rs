//! Which names of options are honoured here, and what is said of the others.

use crate::elsewhere;
use crate::entry::Entry;
use crate::error::Warning;
use crate::known::{self, Side};
use crate::reasons;

/// Warns about the options that are not honoured. `fields` are those that are.
pub(crate) fn check(
    side: Side,
    entries: &[Entry],
    fields: &'static [&'static str],
    warnings: &mut Vec<Warning>,
) {
    for entry in entries {
        let name = entry.name.as_str();
        let Some(source) = &entry.source else {
            continue;
        };
        if is_honoured(side, name, fields)
            || is_of_a_module(name)
            || is_of_saltgui(name)
            || is_of_an_installed_salt(name)
        {
            continue;
        }
        let place = source.place(entry.key);
        let option = entry.name.clone();
        warnings.push(if known::is_known(name) {
            let why = reasons::why(side, name);
            Warning::NotHonoured { place, option, why }
        } else {
            let nearest = known::nearest(name, fields);
            Warning::Unknown {
                place,
                option,
                nearest,
            }
        });
    }
}

/// Whether it is for SaltGUI, which reads the master's options by `wheel`.
fn is_of_saltgui(name: &str) -> bool {
    name.starts_with("saltgui_")
}

/// Whether an option is honoured, by a field of the configuration or elsewhere.
pub(crate) fn is_honoured(side: Side, name: &str, fields: &[&str]) -> bool {
    fields.contains(&name)
        || READ_HERE.contains(&name)
        || elsewhere::shape(side, name).is_some()
        || of_returners(side).contains(&name)
}

/// The options that are honoured without a field of the configuration.
#[cfg(test)]
pub(crate) fn honoured_elsewhere(side: Side) -> impl Iterator<Item = &'static str> {
    let here = READ_HERE.iter().chain(of_returners(side));
    here.copied().chain(elsewhere::names(side))
}

/// Options that this crate itself heeds.
const READ_HERE: &[&str] = &["include", "default_include"];

/// Options that the returners of a side read.
fn of_returners(side: Side) -> &'static [&'static str] {
    match side {
        Side::Master => EVENT_RETURNERS,
        Side::Minion => RETURNERS,
    }
}

/// Options of a minion that its returners read: they may be in pillar and
/// grains as well, so that they are checked when they are used.
const RETURNERS: &[&str] = &["rawfile_json", "return", "schedule_returner", "syslog"];

/// Options of a master that the returners of its events read.
const EVENT_RETURNERS: &[&str] = &["rawfile_json"];

/// Whether an option belongs to a module, such as `mysql.host`: only the
/// module knows its names, and it reads them when it is used.
fn is_of_a_module(name: &str) -> bool {
    name.contains('.') && !known::is_known(name)
}

/// Whether an option is heeded by an installed Salt, whose code gets all
/// options: logins through Django.
pub(crate) fn is_of_an_installed_salt(name: &str) -> bool {
    name.starts_with("django_auth_")
}
