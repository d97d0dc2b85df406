//! What was measured, as a table, and which aims were missed.

use std::time::Duration;

use halite_integration_tests::flooded::{
    DESCRIPTORS_KEPT_MAX, MEMORY_KEPT_MAX_KIB, PING_P99_MAX, SIGN_IN_MAX, Usage, figures,
};

/// What was measured while one thing went on.
pub(crate) struct Phase {
    name: &'static str,
    pub(crate) pings: Vec<Duration>,
    pub(crate) sign_ins: Vec<Duration>,
    /// The most that the master has used.
    pub(crate) most: Usage,
    /// What strangers have sent.
    pub(crate) sent: u64,
}

impl Phase {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            pings: Vec::new(),
            sign_ins: Vec::new(),
            most: Usage {
                memory_kib: 0,
                descriptors: 0,
            },
            sent: 0,
        }
    }

    /// The master uses so much now.
    pub(crate) fn uses(&mut self, usage: Usage) {
        self.most.memory_kib = self.most.memory_kib.max(usage.memory_kib);
        self.most.descriptors = self.most.descriptors.max(usage.descriptors);
    }

    fn row(&self) -> String {
        let (ping, ping_p99, _) = figures(self.pings.clone());
        let (sign_in, _, slowest) = figures(self.sign_ins.clone());
        format!(
            "| {} | {ping:.0} ms | {ping_p99:.0} ms | {sign_in:.0} ms | {slowest:.0} ms | {} | {} |\n",
            self.name,
            usage_cells(self.most),
            self.sent
        )
    }
}

/// All that was measured.
pub(crate) struct Report {
    pub(crate) at_rest: Phase,
    pub(crate) floods: Vec<Phase>,
    /// Ten seconds after the last flood.
    pub(crate) afterwards: Usage,
}

impl Report {
    pub(crate) fn table(&self) -> String {
        let mut text = String::from(
            "| strangers send | `test.ping`: median | 99 of 100 within | a sign-in: median | \
             the slowest | memory | descriptors | sent |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        text.push_str(&self.at_rest.row().replace(self.at_rest.name, "nothing"));
        for flood in &self.floods {
            text.push_str(&flood.row());
        }
        let afterwards = usage_cells(self.afterwards);
        text.push_str(&format!("| ten seconds later | | | | | {afterwards} | |\n"));
        text
    }

    /// The aims that were missed, a line each.
    pub(crate) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let mut check = |name: &str, what: &str, found: f64, max: f64, unit: &str| {
            if found > max {
                missed.push(format!(
                    "{name}: {what} {found:.0} {unit}, at most {max:.0}"
                ));
            }
        };
        for flood in &self.floods {
            let (_, ping_p99, _) = figures(flood.pings.clone());
            check(
                flood.name,
                "99 of 100 commands within",
                ping_p99,
                ms(PING_P99_MAX),
                "ms",
            );
            let (_, _, slowest) = figures(flood.sign_ins.clone());
            check(flood.name, "a sign-in took", slowest, ms(SIGN_IN_MAX), "ms");
        }
        let (before, after) = (self.at_rest.most, self.afterwards);
        let kept = after.memory_kib.saturating_sub(before.memory_kib) / 1024;
        let open = after.descriptors.saturating_sub(before.descriptors);
        let kept = (kept as f64, (MEMORY_KEPT_MAX_KIB / 1024) as f64);
        let open = (open as f64, DESCRIPTORS_KEPT_MAX as f64);
        check(
            "ten seconds later",
            "memory grown by",
            kept.0,
            kept.1,
            "MiB",
        );
        check(
            "ten seconds later",
            "more descriptors:",
            open.0,
            open.1,
            "of them",
        );
        missed
    }
}

fn usage_cells(usage: Usage) -> String {
    format!("{} MiB | {}", usage.memory_kib / 1024, usage.descriptors)
}
