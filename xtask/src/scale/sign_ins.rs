//! Sign-ins of one master, beside what RSA allows on this machine.

use std::process::{Command, Stdio};

use anyhow::Result;
use halite_integration_tests::overload::Visitor;

use super::masters::Layout;
use super::measure::Scene;

/// Measures them at the first master of a list. A cluster keeps keys elsewhere. These
/// sign-ins have no token, so each costs the master one operation with its private key,
/// the signature of the answer; those of minions have one, and cost it two.
pub(super) fn sign_in(scene: &mut Scene<'_>) -> Result<()> {
    if scene.plan.layout != Layout::List {
        return Ok(());
    }
    let served = Visitor::new(&scene.masters.all[0])?.served_per_s()?;
    scene.record_figure("sign-ins that one master serves", "/s", served);
    if let Some(signatures) = signatures_per_s() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let name = "signatures of 2048 bits by `openssl speed` on one core";
        scene.record_figure(name, "/s", signatures);
        let share = served / (signatures * cores);
        let name = "sign-ins that one master serves, of those that RSA allows on all cores";
        scene.record_figure(name, "%", share * 100.0);
    }
    Ok(())
}

/// Nothing where there is no `openssl`.
fn signatures_per_s() -> Option<f64> {
    let output = Command::new("openssl")
        .args(["speed", "-mr", "-seconds", "2", "rsa2048"])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    of_speed(&String::from_utf8_lossy(&output.stdout))
}

/// From the line for programs, `+F2:2:2048:SIGNATURES:VERIFICATIONS`, each in a second.
fn of_speed(text: &str) -> Option<f64> {
    let mut lines = text.lines();
    let fields = lines.find_map(|line| line.strip_prefix("+F2:"))?;
    let per_s = fields.split(':').nth(2)?.parse::<f64>().ok()?;
    (per_s > 1.0).then_some(per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signatures_of_a_second_are_read() {
        let text = "+DTP:2048:private:rsa:2\n+F2:2:2048:1030.434783:39242.187500\n";
        assert_eq!(of_speed(text), Some(1_030.434_783));
        assert_eq!(of_speed("+F2:2:2048:0.000970:0.000025\n"), None, "seconds");
        assert_eq!(of_speed("nothing"), None);
    }
}
