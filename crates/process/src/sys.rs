//! The calls that Rust cannot check: `fork`, the code between `fork` and `exec`,
//! which descriptors a program inherits, changing the environment, catching a
//! signal, a thread's priority, giving memory back, the progress of a library's connection, and PAM.
//! Nothing else of the project is unsafe.
#![allow(unsafe_code)]

mod pam;

use std::ffi::OsStr;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{ForkResult, Gid, Pid, Uid, getppid, setgid, setgroups, setsid, setuid};

fn check_single_threaded() -> io::Result<()> {
    match std::fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        threads => Err(io::Error::other(format!(
            "the process has {threads} threads already"
        ))),
    }
}

/// Splits the process in two.
///
/// # Errors
/// When the process has more than one thread, or the system cannot fork.
pub(crate) fn fork_single_threaded() -> io::Result<ForkResult> {
    check_single_threaded()?;
    // SAFETY: only the forking thread lives on in the child, so a lock that
    // another thread holds would stay locked for ever. The check above makes
    // sure that there is no other thread; nothing can start one in between,
    // since this is the only thread there is.
    unsafe { nix::unistd::fork() }.map_err(io::Error::from)
}

/// Changes variables of the environment.
///
/// # Errors
/// When the process has more than one thread.
pub(crate) fn set_env_single_threaded(variables: &[(&str, &OsStr)]) -> io::Result<()> {
    check_single_threaded()?;
    for (name, value) in variables {
        // SAFETY: another thread that reads the environment meanwhile, in Rust
        // or in C, would read freed memory. The check above makes sure that
        // there is no other thread.
        unsafe { std::env::set_var(name, value) };
    }
    Ok(())
}

/// Whether PAM takes a password.
///
/// # Errors
/// When PAM cannot be used.
pub(crate) fn check_password(service: &str, user: &str, password: &str) -> io::Result<bool> {
    pam::check(service, user, password, None)
}

/// Ends the process without running what was set up to run at its end: that
/// belongs to the other half of a fork.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: the call takes no pointers and does not return.
    unsafe { nix::libc::_exit(code) }
}

/// Has the signal of a file that becomes too large do nothing.
pub(crate) fn catch_file_size_signal() {
    extern "C" fn do_nothing(_signal: nix::libc::c_int) {}
    let action = SigAction::new(
        SigHandler::Handler(do_nothing),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    // SAFETY: the handler does nothing at all, so that it may run at any time
    // and in any thread. It fails for a number that is no signal only.
    let _ = unsafe { sigaction(Signal::SIGXFSZ, &action) };
}

/// Has the calling thread, and no other one, give way by so many steps.
pub(crate) fn be_nice(steps: i32) {
    // SAFETY: the call takes no pointers. On Linux it is about the calling thread
    // only, and a thread may always give way more.
    unsafe {
        nix::libc::nice(steps);
    }
}

/// Gives free memory back to the system, where the C library can.
pub(crate) fn trim_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointers, takes the allocator's own locks, and
    // touches nothing that is allocated.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

/// Has threads share the first heap, where the C library has several.
pub(crate) fn share_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointers and sets a number of the allocator.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
    }
}

/// How much of the heap is asked of the system at once, and how much of it that
/// is free is kept; larger pieces are no part of it.
pub(crate) fn grow_in_steps() {
    const STEP: i32 = 1 << 20;
    const KEPT: i32 = 32 << 20;
    const PIECE_MAX: i32 = 4 << 20;
    #[cfg(target_env = "gnu")]
    // SAFETY: the calls take no pointers and set numbers of the allocator.
    unsafe {
        nix::libc::mallopt(nix::libc::M_TOP_PAD, STEP);
        nix::libc::mallopt(nix::libc::M_TRIM_THRESHOLD, KEPT);
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, PIECE_MAX);
    }
}

/// Keeps pieces from this size on out of the heap.
pub(crate) fn keep_large_apart() {
    const LARGE: i32 = 128 << 10;
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointers and sets a number of the allocator.
    unsafe {
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Has programs started from now on inherit none of the descriptors that are
/// open now, except the standard three. Every library opens some, and not all
/// of them say so to the system: libzmq's epoll descriptors hold pointers of
/// this process, which a child could change.
pub(crate) fn close_descriptors_on_exec() {
    const FIRST: nix::libc::c_uint = 3;
    // SAFETY: the call takes no pointers. It changes a flag of descriptors,
    // and none is closed here: whoever reads or writes them does not notice.
    let done = unsafe {
        nix::libc::syscall(
            nix::libc::SYS_close_range,
            FIRST,
            nix::libc::c_uint::MAX,
            nix::libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    // Linux before 5.11 does not know the flag.
    if done != 0 {
        close_listed_on_exec();
    }
}

/// The same, one descriptor after the other.
pub(crate) fn close_listed_on_exec() {
    let listed = std::fs::read_dir("/proc/self/fd");
    for entry in listed.into_iter().flatten().flatten() {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(number @ 3..) = number else { continue };
        // SAFETY: the call takes no pointers and changes a flag. A number that
        // was closed meanwhile is an error that nobody needs to hear of.
        unsafe { nix::libc::fcntl(number, nix::libc::F_SETFD, nix::libc::FD_CLOEXEC) };
    }
}

/// What the kernel says of a TCP connection (`struct tcp_info`), or as much of
/// it as the kernel has. `None` where the number is no such connection.
pub(crate) fn tcp_info(descriptor: RawFd) -> Option<([u8; TCP_INFO_BYTES], usize)> {
    let mut info = [0; TCP_INFO_BYTES];
    let mut length = nix::libc::socklen_t::try_from(info.len()).ok()?;
    // SAFETY: the call writes at most `length` bytes to `info`, which are
    // there, and the number that it has written to `length`. The descriptor
    // may be closed or another's by now: then it fails or tells of another
    // connection, and changes nothing.
    let done = unsafe {
        nix::libc::getsockopt(
            descriptor,
            nix::libc::IPPROTO_TCP,
            nix::libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    let length = usize::try_from(length).ok()?;
    (done == 0).then_some((info, length))
}

/// Room for what a kernel says of a connection.
pub(crate) const TCP_INFO_BYTES: usize = 256;

/// Who and what a child becomes before it runs its program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Become {
    /// The leader of a session of its own, which has no terminal.
    pub(crate) session: bool,
    /// All groups, and then the user and group ids.
    pub(crate) identity: Option<(Vec<Gid>, Gid, Uid)>,
    /// The mask of new files' modes.
    pub(crate) umask: Option<Mode>,
    /// It is killed when the thread that starts it ends, which is one of this process.
    pub(crate) ends_with: Option<Pid>,
}

/// Has the child of `command` become `who` before it runs its program.
pub(crate) fn before_exec(command: &mut Command, who: Become) {
    let change = move || {
        if who.session {
            setsid()?;
        }
        if let Some((groups, gid, uid)) = &who.identity {
            setgroups(groups)?;
            setgid(*gid)?;
            setuid(*uid)?;
        }
        if let Some(mask) = who.umask {
            umask(mask);
        }
        if let Some(parent) = who.ends_with {
            set_pdeathsig(Signal::SIGKILL)?;
            // It may have ended before.
            if getppid() != parent {
                return Err(Errno::ESRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: the closure runs in the child after `fork`, where only
    // async-signal-safe work is allowed. It makes seven system calls and
    // converts their error numbers; it allocates nothing, takes no lock and
    // reads no file: groups and ids were looked up before the fork, and the
    // memory they lie in is not freed there, since the child either runs
    // another program or exits at once.
    unsafe {
        command.pre_exec(change);
    }
}
