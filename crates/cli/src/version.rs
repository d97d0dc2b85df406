//! The version texts of the programs.

use std::fmt::Write;

/// The version of all programs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The name beside the number, where Salt has a chemical element's.
const CODE_NAME: &str = "Halite";

/// What `--version` shows.
pub fn line(program: &str) -> String {
    format!("{program} {VERSION} ({CODE_NAME})")
}

/// What `--versions-report` shows.
pub fn report() -> String {
    let mut text = String::from("Salt Version:\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:>14}: {value}");
    };
    row("Salt", &format!("{VERSION} ({CODE_NAME})"));
    row("speaks", "Salt 3006, 3007 and 3008");
    text.push_str("\nSystem Versions:\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:>14}: {value}");
    };
    row("machine", std::env::consts::ARCH);
    row("system", std::env::consts::OS);
    if let Ok(release) = std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        row("release", release.trim());
    }
    text
}
