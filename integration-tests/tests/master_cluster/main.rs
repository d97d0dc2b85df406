//! Masters behind one address: three of ours with a shared directory, a real
//! haproxy before them, and minions that know only its address. And masters without
//! shared files.

mod bus;
mod cabled;
mod cabled_bus;
mod chaos;
mod compared;
mod copies;
mod disks;
mod drain;
mod faults;
mod files;
mod fleets;
mod git_promoted;
mod halves;
mod history;
mod hot_list;
mod isolated;
mod isolated_cluster;
mod lease;
mod lost_work;
mod members;
mod minion_data;
mod missed;
mod monitored;
mod once;
mod parts;
mod python;
mod recovery;
mod restarted;
mod roots;
mod runner_jobs;
mod salt_peers;
mod shared_work;
mod stored;
mod support;
mod takeover;
mod ticks;
mod two_balancers;
mod view;
