//! The names of the suites, and the tests of each.

use crate::build::Artifact;

/// A part of the tests that has its own line in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Suite {
    /// The unit tests of every crate
    Unit,
    /// Messages recorded from real Salt, decoded and made again
    Vectors,
    /// Our programs among themselves
    Ours,
    /// Every entrance of a master against every caller, and floods while a fleet works
    Hostile,
    /// Some 1,700 command lines, as real Salt has answered them
    CommandTable,
    /// What is on the event bus during some 80 actions
    EventStreams,
    /// Several of our masters that come and go: nothing may be lost
    MultiMaster,
    /// Masters of a cluster behind a real haproxy
    MasterCluster,
    /// Our master with the minions of real Salt
    PythonMinions,
    /// Our minion with the masters of real Salt
    PythonMasters,
    /// Minions of every kind with masters of both kinds
    MixedMasters,
    /// The programs and the Python interface of real Salt beside our master
    PythonTools,
    /// What users may do, compared with real Salt's master
    AccessRules,
    /// Some 300 requests to `salt-api`, as real Salt has answered them
    RestApi,
    /// The grains of this machine, as real Salt sees them
    PythonGrains,
    /// Users' Python code, beside real Salt
    PythonModules,
    /// One large tree of states, applied by both in temporary roots
    BigTree,
}

impl Suite {
    /// All of them, the quick ones first.
    pub(crate) const ALL: [Self; 17] = [
        Self::Unit,
        Self::Vectors,
        Self::Ours,
        Self::Hostile,
        Self::CommandTable,
        Self::EventStreams,
        Self::RestApi,
        Self::MultiMaster,
        Self::MasterCluster,
        Self::PythonMinions,
        Self::PythonMasters,
        Self::MixedMasters,
        Self::PythonTools,
        Self::AccessRules,
        Self::PythonGrains,
        Self::PythonModules,
        Self::BigTree,
    ];

    /// The name in the summary and after `--only`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Vectors => "vectors",
            Self::Ours => "ours",
            Self::Hostile => "hostile",
            Self::CommandTable => "command-table",
            Self::EventStreams => "event-streams",
            Self::MultiMaster => "multi-master",
            Self::MasterCluster => "master-cluster",
            Self::PythonMinions => "python-minions",
            Self::PythonMasters => "python-masters",
            Self::MixedMasters => "mixed-masters",
            Self::PythonTools => "python-tools",
            Self::AccessRules => "access-rules",
            Self::RestApi => "rest-api",
            Self::PythonGrains => "python-grains",
            Self::PythonModules => "python-modules",
            Self::BigTree => "big-tree",
        }
    }

    /// The test of `integration-tests` that it is, if it runs daemons.
    pub(super) fn target(self) -> String {
        self.name().replace('-', "_")
    }

    /// Whether it runs daemons.
    pub(crate) const fn runs_daemons(self) -> bool {
        !matches!(self, Self::Unit | Self::Vectors)
    }

    /// Whether real Salt takes part; in the long form it answers the table of
    /// commands again.
    pub(crate) const fn needs_peers(self, long: bool) -> bool {
        match self {
            Self::Unit | Self::Vectors | Self::Ours | Self::MultiMaster => false,
            Self::CommandTable | Self::EventStreams => long,
            _ => true,
        }
    }

    /// The suite that a test program belongs to.
    pub(crate) fn of(artifact: &Artifact) -> Self {
        let suite = Self::ALL
            .into_iter()
            .find(|suite| suite.runs_daemons() && suite.target() == artifact.target);
        match suite {
            Some(suite) if artifact.package == "halite-integration-tests" => suite,
            _ if artifact.target.contains("vectors") => Self::Vectors,
            _ => Self::Unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Suite;
    use crate::build::root;

    /// A new file of tests with daemons needs a suite, or it would run as a
    /// unit test: without peers, and without a line of its own.
    #[test]
    fn every_test_with_daemons_has_a_suite() {
        for entry in std::fs::read_dir(root().join("integration-tests/tests")).unwrap() {
            let path = entry.unwrap().path();
            // Without a `main.rs` a directory holds what tests read.
            if path.is_dir() && !path.join("main.rs").exists() {
                continue;
            }
            let name = path
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .replace('_', "-");
            assert!(
                Suite::ALL
                    .iter()
                    .any(|suite| suite.runs_daemons() && suite.name() == name),
                "{name} has no suite"
            );
        }
    }
}
