//! The limits of sign-ins that wait, and of their appointments.

use std::time::Duration;

/// How long a sign-in may wait before it is dropped. Minions ask again after
/// `auth_timeout` (5 s). If sign-ins could wait longer, an overloaded master would
/// answer only minions that have already given up, and none would sign in.
pub const SIGN_IN_WAIT_MAX: Duration = Duration::from_secs(3);

/// How long a sign-in may have to wait, by what the last ones took, and still be taken.
/// A minion of ours that would wait longer is asked to come again: half of
/// `SIGN_IN_WAIT_MAX`, as nobody knows how long the next ones take.
pub const SIGN_IN_QUEUE_MAX: Duration = Duration::from_millis(1_500);

/// The size from which a sign-in is refused as it arrives, before it is decoded and before
/// it takes room in the queue. A sign-in holds a public key and the grains of
/// `autosign_grains`.
pub const SIGN_IN_BYTES_MAX: usize = 256 * 1024;

/// Size up to which a waiting sign-in is read to see whether its minion can be told to
/// come again. Larger ones wait.
pub const SIGN_IN_READ_BYTES_MAX: usize = 64 * 1024;

/// After how long such a minion is to come again at least.
pub const COME_AGAIN_MIN: Duration = Duration::from_secs(2);

/// After how long at most: minions do not stay away longer either.
pub const COME_AGAIN_MAX: Duration = Duration::from_secs(60);

/// How late a minion may come to its appointment. It waits up to an eighth of
/// `COME_AGAIN_MAX` longer than asked, or as long as without an answer (`recon_max`).
pub const APPOINTMENT_LATE_MAX: Duration = Duration::from_secs(15);

/// Appointments that are not over. Beyond it a minion is told a time, and has no
/// appointment.
pub const APPOINTMENTS_MAX: usize = 128 * 1024;

/// Preferred requests (sign-ins with an appointment, commands with the key of a user of
/// this machine) that are served in a row while others wait.
pub const PREFERRED_IN_A_ROW: usize = 4;
