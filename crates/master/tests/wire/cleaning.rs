//! The periodic work of a master.

use std::time::{Duration, Instant};

use halite_key::dropfile::{DROP_FILE, request_rotation};
use halite_store::Faults;

use crate::support::{Master, SOON};

/// By this seed the first operation is late, and those behind it are refused.
const FIRST_IS_LATE: u64 = 4358;

/// How long the job cache is being cleaned.
const CLEANING: Duration = Duration::from_secs(15);

#[tokio::test]
async fn nothing_waits_until_the_job_cache_is_cleaned() {
    let faults = Faults::new(FIRST_IS_LATE, 1, CLEANING);
    faults.set(false);
    let master = Master::start_with_faults_and(faults.clone(), "loop_interval: 2");
    // Who is served has a master that has begun.
    drop(master.events().await);
    faults.set(true);
    let deadline = Instant::now() + SOON;
    while faults.met() == 0 {
        assert!(Instant::now() < deadline, "it is never cleaned");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    request_rotation(&master.path("cache"), "m1_master", None).unwrap();
    let deadline = Instant::now() + CLEANING / 2;
    while master.path("cache").join(DROP_FILE).exists() {
        assert!(Instant::now() < deadline, "the drop file is not looked for");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(faults.failed(), 0, "the cleaning was over");
    faults.set(false);
    master.stop().await;
}
