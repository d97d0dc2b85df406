//! Names of rows that are read again: by the model.

/// Each figure's name and unit.
pub(super) type Row = (&'static str, &'static str);

pub(super) const JOINED: Row = ("new fleet: processor time of the masters per minion", "ms");
pub(super) const JOINED_BYTES: Row = ("new fleet: between masters per minion", "kB");
pub(super) const MEMORY: Row = ("idle: own memory of a master", "MiB");
pub(super) const MEMORY_EACH: Row = ("idle: memory of a connected minion", "KiB");
pub(super) const DESCRIPTORS: Row = ("idle: descriptors of a master", "");
pub(super) const IDLE: Row = ("idle: processor of the masters", "% of a core");
pub(super) const PING: Row = ("salt '*' test.ping", "s");
pub(super) const PING_CPU: Row = ("salt '*' test.ping", "s of the masters' processor");
pub(super) const PING_BYTES: Row = ("salt '*' test.ping: between masters per minion", "kB");
pub(super) const RETURNED: Row = (
    "returning fleet: processor time of the masters per minion",
    "ms",
);

/// All of them, as the model lists what it is fed with.
pub(super) const OF_MODEL: [Row; 10] = [
    JOINED,
    RETURNED,
    MEMORY,
    MEMORY_EACH,
    DESCRIPTORS,
    IDLE,
    PING,
    PING_CPU,
    JOINED_BYTES,
    PING_BYTES,
];

/// A row's beginning in a table.
pub(super) fn heading((name, unit): Row) -> String {
    format!("{name}, {unit}")
}
