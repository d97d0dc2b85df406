//! The store by itself and on every server. The files beside this directory are programs
//! of their own: their tests measure the memory of the process, or kill it.

mod data;
mod etcd;
mod events;
mod job_lists;
mod jobs;
mod lost_tables;
mod lying_servers;
mod migrate;
mod others_rows;
mod postgres_words;
mod real_salt;
mod redis_keys;
mod salts_mysql;
mod secured;
mod toy_backend;
