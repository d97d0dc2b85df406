//! Reads the values of `sdb` addresses in the options of a daemon or of
//! `salt-call`.
//!
//! This happens before the daemon forks. Invariant: no process that was started for
//! it is left when it is over, and a driver that hangs is ended.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use halite_call::{Job, run_function};
use halite_config::BehindError;
use halite_fileserver::{FileServer, RootsOptions};
use halite_minion::context::local::LocalContext;
use halite_proto::{Map, Value};
use halite_pyworker::Workers;

/// How long a driver may take.
const TIME_MAX: Duration = Duration::from_secs(15);

/// How long one that has to end may take for that.
const END_TIME_MAX: Duration = Duration::from_secs(1);

/// The value behind an sdb address. An address without a profile is its own value, as
/// with `sdb.get`.
///
/// # Errors
/// When the driver fails, or does not answer.
pub fn read(opts: &Map, address: &str) -> Result<Value, BehindError> {
    read_within(opts, address, TIME_MAX)
}

fn read_within(opts: &Map, address: &str, time_max: Duration) -> Result<Value, BehindError> {
    let job = Job::default();
    let cancel = job.cancel.clone();
    let (opts, address) = (opts.clone(), Value::from(address));
    let (tell, told) = mpsc::channel();
    let asking = thread::Builder::new()
        .name("sdb".to_owned())
        .spawn(move || {
            let Ok(files) = FileServer::from_roots(RootsOptions::default()) else {
                return;
            };
            let context = LocalContext::new(opts, Map::new(), files);
            let outcome = run_function(&context, "sdb.get", &[address], &job);
            // Whoever has asked may have gone.
            let _ = tell.send(outcome.success.then_some(outcome.ret));
        })
        .map_err(|_| BehindError::Failed)?;
    let found = match told.recv_timeout(time_max) {
        Ok(found) => found.ok_or(BehindError::Failed),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(BehindError::Failed),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            cancel.signal(nix::libc::SIGKILL);
            let _ = told.recv_timeout(END_TIME_MAX);
            return Err(BehindError::Late(time_max.as_secs()));
        }
    };
    let _ = asking.join();
    // A process of Python would not survive the fork.
    Workers::global().end_unused(Duration::ZERO);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opts(profile: Map) -> Map {
        Map::from([("y", Value::from(profile))])
    }

    #[test]
    fn drivers_and_what_names_none_are_as_in_salt() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secrets.yaml");
        std::fs::write(&file, "pw: s3cret\n").unwrap();
        let files = vec![Value::from(file.to_string_lossy().as_ref())];
        let opts = opts(Map::from([
            ("driver", Value::from("yaml")),
            ("files", files.into()),
        ]));
        assert_eq!(read(&opts, "sdb://y/pw"), Ok("s3cret".into()));
        assert_eq!(read(&opts, "sdb://y/nothing"), Ok(Value::Nil));
        assert_eq!(read(&opts, "sdb://z/pw"), Ok("sdb://z/pw".into()));
    }

    #[test]
    fn a_driver_that_hangs_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let drivers = directory.path().join("sdb");
        std::fs::create_dir(&drivers).unwrap();
        let code = "import time\ndef get(key, profile=None):\n    time.sleep(600)\n";
        std::fs::write(drivers.join("sleepy.py"), code).unwrap();
        let mut opts = opts(Map::from([("driver", "sleepy")]));
        let place = directory.path().to_string_lossy().into_owned();
        opts.insert("extension_modules", place.as_str());
        opts.insert("cachedir", place.as_str());
        let hung = read_within(&opts, "sdb://y/pw", Duration::from_millis(1500));
        assert_eq!(hung, Err(BehindError::Late(1)));
    }
}
