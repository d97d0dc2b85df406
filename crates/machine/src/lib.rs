//! The machine as a whole: its name, its clock, its language, its processes and its
//! load.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod computer;
mod keyboard;
mod locale;
mod ps;
mod states;
mod status;
mod timezone;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[
    keyboard::MODULE,
    locale::MODULE,
    ps::MODULE,
    status::MODULE,
    computer::MODULE,
    timezone::MODULE,
];

/// The state modules.
pub static STATES: &[Module] = &[
    states::measures::DISK,
    states::keyboard::MODULE,
    states::locale::MODULE,
    states::process::MODULE,
    states::measures::STATUS,
    states::timezone::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
