//! What an administrator asks for while a master has much else to do, and how long that
//! takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use halite_integration_tests::{Kind, Master, Program, Recipe, run};

use super::measure::Scene;

/// 99 of 100 requests to the master itself take no longer, whatever else it does.
const MASTER_MS_MAX: f64 = 1000.0;

/// 99 of 100 pings of one connected minion take no longer.
const PING_MS_MAX: f64 = 3000.0;

/// The minion that is pinged.
const PINGED: &str = "emu00000";

/// A ping takes longer only if something hangs.
const PING_DEADLINE: Duration = Duration::from_secs(60);

/// A ping of one minion.
#[derive(Debug)]
pub(super) struct Ping(Recipe);

impl Ping {
    /// By this master.
    pub(super) fn by(master: &Master) -> Result<Self> {
        let args = [PINGED, "test.ping", "--out=txt", "-t", "5"];
        let recipe = master.tools(Kind::Ours).recipe(Program::Salt, &args)?;
        Ok(Self(recipe))
    }
}

/// How long each request has taken, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Control {
    runner: Vec<f64>,
    key: Vec<f64>,
    ping: Vec<f64>,
}

impl Control {
    /// Asks the master itself.
    pub(super) fn ask(&mut self, master: &Master) -> Result<()> {
        let begun = Instant::now();
        let tools = master.tools(Kind::Ours);
        tools.runner(&["test.arg", "1", "--out=quiet"])?.ok()?;
        self.runner.push(millis(begun));
        let begun = Instant::now();
        master.key(&["-L", "--out=quiet"])?.ok()?;
        self.key.push(millis(begun));
        Ok(())
    }

    /// Pings one minion. It need not be connected; then this counts for nothing.
    pub(super) fn ping(&mut self, ping: &Ping) -> Result<()> {
        let begun = Instant::now();
        let output = run(&ping.0, PING_DEADLINE)?;
        if output.stdout == format!("{PINGED}: True\n") {
            self.ping.push(millis(begun));
        }
        Ok(())
    }

    /// Whether the minion has answered a ping.
    pub(super) fn was_answered(&self) -> bool {
        !self.ping.is_empty()
    }

    /// Adds what another one has asked for.
    pub(super) fn add(&mut self, other: Self) {
        self.runner.extend(other.runner);
        self.key.extend(other.key);
        self.ping.extend(other.ping);
    }

    /// Records the figures of a time, and a fault for each that is over its bound.
    pub(super) fn record_figures(self, scene: &mut Scene<'_>, time: &str) {
        for (what, took, max) in [
            ("`salt-run test.arg`", self.runner, MASTER_MS_MAX),
            ("`salt-key -L`", self.key, MASTER_MS_MAX),
            ("a ping of one minion", self.ping, PING_MS_MAX),
        ] {
            let name = format!("{time}: {what} meanwhile, 99 % within");
            let p99 = percentile_99(took);
            scene.record_figure(&name, "ms", p99);
            // No value is no number, which is above nothing.
            if p99 > max {
                scene.fault(format!("{name} {p99:.0} ms: at most {max:.0} are allowed"));
            }
        }
    }
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// What 99 of 100 values are not above; no number if there are none.
fn percentile_99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * 99).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_hundred_is_above() {
        let values = |count: u32| (1..=count).rev().map(f64::from).collect();
        assert_eq!(percentile_99(values(100)), 99.0);
        assert_eq!(percentile_99(values(3)), 3.0);
        assert!(percentile_99(Vec::new()).is_nan());
    }
}
