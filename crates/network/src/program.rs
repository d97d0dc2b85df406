//! Programs given as a line of words.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, shlex};

/// Runs a line without a shell: quotes hold words together, nothing is
/// expanded.
pub(crate) fn run(call: &Call<'_>, line: &str) -> Result<Ran, CallError> {
    Program::new(call, &shlex::split(line)?).run()
}

/// What `cmd.run` gives of a program: its output and its complaints.
pub(crate) fn said(ran: &Ran) -> String {
    match (ran.stdout.is_empty(), ran.stderr.is_empty()) {
        (true, _) => ran.stderr.clone(),
        (_, true) => ran.stdout.clone(),
        _ => format!("{}\n{}", ran.stdout, ran.stderr),
    }
}
