//! Processes and the machine's resources: the execution module `ps`, read from
//! `/proc`.
//!
//! Invariant: names, orders and roundings are those of the library that Salt
//! asks, so that scripts see the same numbers.

mod attributes;
mod busy;
mod disks;
mod find;
mod machine;
mod maps;
mod process;
mod sockets;
mod tables;

use halite_call::{Function, Module};

pub(crate) const MODULE: Module = Module {
    name: "ps",
    functions: &[
        Function::new(
            "ps.boot_time",
            "(time_format=None)",
            machine::boot_time,
            "When the machine started, in seconds since 1970, or as a format of\nstrftime says.",
        ),
        Function::new(
            "ps.cpu_percent",
            "(interval=0.1, per_cpu=False)",
            busy::cpu_percent,
            "How busy the processors are over some seconds, in percent: all, or each.",
        ),
        Function::new(
            "ps.cpu_times",
            "(per_cpu=False)",
            machine::cpu_times,
            "The seconds that the processors have spent on what: all, or each.",
        ),
        Function::new(
            "ps.disk_io_counters",
            "(device=None)",
            disks::disk_io_counters,
            "What has been read from disks and written to them: all, or one.",
        ),
        Function::new(
            "ps.disk_partition_usage",
            "(all=False)",
            disks::disk_partition_usage,
            "Mounted file systems and how full they are.",
        ),
        Function::new(
            "ps.disk_partitions",
            "(all=False)",
            disks::disk_partitions,
            "Mounted file systems of disks, or with all every one.",
        ),
        Function::new(
            "ps.disk_usage",
            "(path)",
            disks::disk_usage,
            "How full the file system of a path is.",
        ),
        Function::new(
            "ps.get_pid_list",
            "()",
            find::get_pid_list,
            "The numbers of all processes.",
        ),
        Function::new(
            "ps.get_users",
            "()",
            machine::get_users,
            "Who is logged in.",
        ),
        Function::new(
            "ps.kill_pid",
            "(pid, signal=15)",
            find::kill_pid,
            "Sends a signal to a process; False if there is none of this number.",
        ),
        Function::new(
            "ps.lsof",
            "(name)",
            tables::lsof,
            "What lsof says of the processes with a name.",
        ),
        Function::new(
            "ps.netstat",
            "(name)",
            tables::netstat,
            "The lines of netstat -nap that hold a text.",
        ),
        Function::new(
            "ps.network_io_counters",
            "(interface=None)",
            machine::network_io_counters,
            "What has been sent and received: all in all, or by one interface.",
        ),
        Function::new(
            "ps.num_cpus",
            "()",
            machine::num_cpus,
            "The number of processors.",
        ),
        Function::new(
            "ps.pgrep",
            "(pattern, user=None, full=False, pattern_is_regex=False)",
            find::pgrep,
            "The processes whose name, or with full whose command line, holds a text.",
        ),
        Function::new(
            "ps.pkill",
            "(pattern, user=None, signal=15, full=False)",
            find::pkill,
            "Sends a signal to the processes whose name, or with full whose command\nline, holds a text.",
        ),
        Function::new(
            "ps.proc_info",
            "(pid, attrs=None)",
            attributes::proc_info,
            "What is known of a process; attrs names the parts that are wanted.",
        ),
        Function::new(
            "ps.psaux",
            "(name)",
            tables::psaux,
            "The lines of ps aux in which a regular expression is found.",
        ),
        Function::new(
            "ps.ss",
            "(name)",
            tables::ss,
            "The lines of ss -neap that hold a text.",
        ),
        Function::new(
            "ps.status",
            "(status)",
            find::status,
            "The processes that are running, sleeping, disk-sleep, stopped,\ntracing-stop, zombie, dead, wake-kill, waking, parked or idle.",
        ),
        Function::new(
            "ps.swap_memory",
            "()",
            machine::swap_memory,
            "The use of swap space, in bytes.",
        ),
        Function::new(
            "ps.top",
            "(num_processes=5, interval=3)",
            busy::top,
            "The processes that use the most processor time over some seconds.",
        ),
        Function::new(
            "ps.total_physical_memory",
            "()",
            machine::total_physical_memory,
            "The machine's memory, in bytes.",
        ),
        Function::new(
            "ps.virtual_memory",
            "()",
            machine::virtual_memory,
            "The use of memory, in bytes.",
        ),
    ],
};
