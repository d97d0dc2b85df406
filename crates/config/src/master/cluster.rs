//! Options of a cluster of masters, and whether they are consistent.

use std::path::Path;

use super::MasterConfig;
use crate::error::Faults;

/// Names of ports that minions use.
const PORTS: [&str; 2] = ["publish_port", "ret_port"];

/// Seconds of `cluster_drain_time` at most: a master that is stopped waits for them.
const DRAIN_TIME_MAX: u64 = 60;

impl MasterConfig {
    /// Whether this master belongs to a cluster.
    pub fn is_clustered(&self) -> bool {
        self.cluster_id.as_deref().is_some_and(|id| !id.is_empty())
    }

    /// The directory of minions' keys, and of the cluster's if there is one.
    pub fn keys_dir(&self) -> &Path {
        match &self.cluster_pki_dir {
            Some(dir) if self.is_clustered() => dir,
            _ => &self.pki_dir,
        }
    }

    /// Settles the paths and ports of the cluster.
    pub(super) fn settle_cluster(&mut self, faults: &mut Faults) {
        // `root_dir` is not in front of `cluster_pki_dir`, as in Salt: it is not one
        // machine's.
        if let Some(port) = self.cluster_port
            && !self.raw.has("cluster_pool_port")
        {
            self.cluster_pool_port = port;
            self.raw.settle("cluster_pool_port", i64::from(port.0));
        }
        if self.is_clustered() {
            self.check_cluster(faults);
        }
    }

    fn check_cluster(&self, faults: &mut Faults) {
        let ports = [self.publish_port, self.ret_port];
        let wrong = match self.raw.has("cluster_port") && !self.raw.has("cluster_pool_port") {
            true => "cluster_port",
            false => "cluster_pool_port",
        };
        for (name, _) in PORTS
            .into_iter()
            .zip(ports)
            .filter(|(_, port)| *port == self.cluster_pool_port)
        {
            let allowed = format!("another port than {name}, {}", self.cluster_pool_port.0);
            faults.add(self.raw.wrong(wrong, allowed));
        }
        if !(1..=2).contains(&self.cluster_return_copies) {
            faults.add(self.raw.wrong("cluster_return_copies", "1 or 2".to_owned()));
        }
        if self.cluster_drain_time > DRAIN_TIME_MAX {
            let allowed = format!("0 to {DRAIN_TIME_MAX} (seconds)");
            faults.add(self.raw.wrong("cluster_drain_time", allowed));
        }
        let fingerprint = self.cluster_pub_fingerprint.as_deref().unwrap_or_default();
        if !fingerprint.is_empty() && !is_fingerprint(fingerprint) {
            let allowed = "64 hexadecimal digits, with or without colons".to_owned();
            faults.add(self.raw.wrong("cluster_pub_fingerprint", allowed));
        }
    }
}

/// Whether a text is a SHA-256 in hexadecimal digits.
fn is_fingerprint(text: &str) -> bool {
    const DIGITS: usize = 64;
    let digits = text.trim().bytes().filter(|byte| *byte != b':');
    digits.clone().count() == DIGITS && digits.clone().all(|byte| byte.is_ascii_hexdigit())
}
